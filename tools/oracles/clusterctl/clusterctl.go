//go:build tools

// Package clusterctl pins the clusterctl that tests run against our objects.
package clusterctl

import _ "sigs.k8s.io/cluster-api/cmd/clusterctl"
