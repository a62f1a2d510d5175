package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Cage has no status, and belongs to the whole cluster.
// +kubebuilder:object:root=true
// +kubebuilder:resource:scope=Cluster
type Cage struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Bars int32 `json:"bars,omitempty"`
}
