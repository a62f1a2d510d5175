// Package v1beta1 is what v1 was before.
// +groupName=zoo.kapstan.dev
package v1beta1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Keeper is a kind of two versions.
// +kubebuilder:object:root=true
// +kubebuilder:deprecatedversion:warning="use v1"
// +kubebuilder:unservedversion
type Keeper struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Name string `json:"name,omitempty"`
}
