package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Keeper is a kind of two versions.
// +kubebuilder:object:root=true
// +kubebuilder:storageversion
type Keeper struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	FullName string `json:"fullName,omitempty"`
}
