// Package e2e pins the version of Kubernetes whose end-to-end tests are built: see ../building.py.
package e2e

import _ "k8s.io/kubernetes/test/e2e"
