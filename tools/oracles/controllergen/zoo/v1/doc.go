// Package v1 has one field for each marker that controller-gen knows.
// +groupName=zoo.kapstan.dev
// +versionName=v1
package v1
