package main

import (
	"context"
	"errors"
	"sort"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// typed does one of each thing that typed clients do, and says what came of it.
func typed(namespace string) error {
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	t := &tester{ctx, client, namespace}
	t.configMaps()
	t.deployments()
	t.pods()
	t.access()
	t.leases()
	t.lists()
	return t.informer()
}

type tester struct {
	context.Context
	client    *kubernetes.Clientset
	namespace string
}

// failure tells the kinds of errors apart as Go programs do.
func failure(err error) any {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	causes := []string{}
	if details := status.Status().Details; details != nil {
		for _, cause := range details.Causes {
			causes = append(causes, string(cause.Type)+" "+cause.Field)
		}
	}
	return map[string]any{"reason": status.Status().Reason, "code": status.Status().Code, "causes": causes}
}

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"from": "go"}}
}

func (t *tester) configMaps() {
	api := t.client.CoreV1().ConfigMaps(t.namespace)
	made, err := api.Create(t, &corev1.ConfigMap{
		ObjectMeta: meta("c"), Data: map[string]string{"k": "v"}, BinaryData: map[string][]byte{"b": {0, 255, 1}},
	}, metav1.CreateOptions{})
	say("create", []any{made.Data, made.BinaryData, made.UID != "", made.ResourceVersion != "", failure(err)})
	_, err = api.Create(t, &corev1.ConfigMap{ObjectMeta: meta("c")}, metav1.CreateOptions{})
	say("create twice", failure(err))
	_, err = api.Create(t, &corev1.ConfigMap{ObjectMeta: meta("UPPER")}, metav1.CreateOptions{})
	say("create with a bad name", failure(err))
	stale := made.DeepCopy()
	made.Data["k"] = "updated"
	made, err = api.Update(t, made, metav1.UpdateOptions{})
	say("update", []any{made.Data, failure(err)})
	_, err = api.Update(t, stale, metav1.UpdateOptions{})
	say("update what has changed", failure(err))
	_, err = api.Get(t, "missing", metav1.GetOptions{})
	say("get what is missing", failure(err))
	dry, err := api.Create(t, &corev1.ConfigMap{ObjectMeta: meta("dry")}, metav1.CreateOptions{DryRun: []string{"All"}})
	say("dry run", []any{dry.Name, failure(err)})
	patched, err := api.Patch(t, "c", types.JSONPatchType, []byte(`[{"op":"remove","path":"/binaryData"}]`), metav1.PatchOptions{})
	say("patch", []any{patched.Data, patched.BinaryData, failure(err)})
	applied, err := api.Apply(t, coreapply.ConfigMap("c", t.namespace).WithData(map[string]string{"mine": "1"}), metav1.ApplyOptions{FieldManager: "go"})
	say("apply", []any{applied.Data, failure(err)})
	_, err = api.Apply(t, coreapply.ConfigMap("c", t.namespace).WithData(map[string]string{"k": "taken"}), metav1.ApplyOptions{FieldManager: "go"})
	say("apply what is owned", failure(err))
	immutable := made.DeepCopy()
	immutable.ResourceVersion, immutable.Immutable = "", ptr.To(true)
	_, err = api.Update(t, immutable, metav1.UpdateOptions{})
	immutable.Data["k"] = "changed"
	_, err2 := api.Update(t, immutable, metav1.UpdateOptions{})
	say("change what is immutable", []any{failure(err), failure(err2)})
	uid := types.UID("other")
	say("delete another", failure(api.Delete(t, "c", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})))
	say("delete", failure(api.Delete(t, "c", metav1.DeleteOptions{})))
}

func (t *tester) deployments() {
	api := t.client.AppsV1().Deployments(t.namespace)
	made, err := api.Create(t, &appsv1.Deployment{ObjectMeta: meta("d"), Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](2),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "d"}},
		Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromString("50%"))}},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "d"}}, Spec: pod("").Spec},
	}}, metav1.CreateOptions{})
	say("create deployment", []any{made.Generation, made.Spec, failure(err)})
	scale, err := api.GetScale(t, "d", metav1.GetOptions{})
	say("scale", []any{scale.Spec, scale.Status, failure(err)})
	scale.Spec.Replicas = 5
	scale, err = api.UpdateScale(t, "d", scale, metav1.UpdateOptions{})
	say("update scale", []any{scale.Spec, failure(err)})
	_, err = api.UpdateScale(t, "d", &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{Name: "d", Namespace: t.namespace}, Spec: autoscalingv1.ScaleSpec{Replicas: -1}}, metav1.UpdateOptions{})
	say("scale below nothing", failure(err))
	made.ResourceVersion, made.Status.Replicas, made.Status.UnavailableReplicas = "", 2, 2
	status, err := api.UpdateStatus(t, made, metav1.UpdateOptions{})
	say("update status", []any{status.Status, *status.Spec.Replicas, failure(err)})
	bad := made.DeepCopy()
	bad.Spec.Selector.MatchLabels["app"] = "other"
	_, err = api.Update(t, bad, metav1.UpdateOptions{})
	say("change a selector", failure(err))
	container := coreapply.Container().WithName("side").WithImage("busybox")
	template := coreapply.PodTemplateSpec().WithSpec(coreapply.PodSpec().WithContainers(container))
	applied, err := api.Apply(t, appsapply.Deployment("d", t.namespace).WithSpec(appsapply.DeploymentSpec().WithTemplate(template).
		WithSelector(metaapply.LabelSelector().WithMatchLabels(map[string]string{"app": "d"}))), metav1.ApplyOptions{FieldManager: "go", Force: true})
	say("apply a container", []any{len(applied.Spec.Template.Spec.Containers), failure(err)})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: meta(name), Spec: corev1.PodSpec{
		ServiceAccountName: "default", AutomountServiceAccountToken: ptr.To(false),
		Containers: []corev1.Container{{
			Name: "c", Image: "busybox", Env: []corev1.EnvVar{{Name: "A", Value: "1"}},
			Resources:     corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("100m"), "memory": resource.MustParse("1.5Gi")}},
			LivenessProbe: &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(80)}}},
		}},
		Volumes: []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: ptr.To(resource.MustParse("1Gi"))}}}},
	}}
}

func (t *tester) pods() {
	_, err := t.client.CoreV1().ServiceAccounts(t.namespace).Create(t, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, metav1.CreateOptions{})
	say("create an account", failure(err))
	api := t.client.CoreV1().Pods(t.namespace)
	made, err := api.Create(t, pod("p"), metav1.CreateOptions{})
	say("create a pod", []any{made.Spec, made.Status.Phase, made.Status.QOSClass, failure(err)})
	err = api.Bind(t, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}, metav1.CreateOptions{})
	bound, err2 := api.Get(t, "p", metav1.GetOptions{})
	say("bind", []any{bound.Spec.NodeName, len(bound.Status.Conditions), failure(err), failure(err2)})
	err = api.EvictV1(t, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p"}, DeleteOptions: &metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}})
	_, err2 = api.Get(t, "p", metav1.GetOptions{})
	say("evict", []any{failure(err), failure(err2)})
	two := pod("two")
	two.Spec.Containers[0].Image, two.Spec.RestartPolicy = "", "Sometimes"
	_, err = api.Create(t, two, metav1.CreateOptions{})
	say("create what is invalid", failure(err))
}

func (t *tester) access() {
	token, err := t.client.CoreV1().ServiceAccounts(t.namespace).CreateToken(t, "default", &authenticationv1.TokenRequest{
		Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)},
	}, metav1.CreateOptions{})
	say("token", []any{token.Spec.Audiences, failure(err)})
	review, err := t.client.AuthenticationV1().TokenReviews().Create(t, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token}}, metav1.CreateOptions{})
	say("token review", []any{review.Status.Authenticated, review.Status.User.Username, review.Status.User.Groups, failure(err)})
	attributes := &authorizationv1.ResourceAttributes{Namespace: t.namespace, Verb: "get", Resource: "pods"}
	ask := func() any {
		user := "system:serviceaccount:" + t.namespace + ":default"
		answer, err := t.client.AuthorizationV1().SubjectAccessReviews().Create(t, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: attributes},
		}, metav1.CreateOptions{})
		return []any{answer.Status.Allowed, failure(err)}
	}
	say("without a role", ask())
	_, err = t.client.RbacV1().Roles(t.namespace).Create(t, &rbacv1.Role{ObjectMeta: meta("r"), Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}}}}, metav1.CreateOptions{})
	_, err2 := t.client.RbacV1().RoleBindings(t.namespace).Create(t, &rbacv1.RoleBinding{ObjectMeta: meta("r"),
		RoleRef:  rbacv1.RoleRef{APIGroup: "rbac.authorization.k8s.io", Kind: "Role", Name: "r"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Name: "default", Namespace: t.namespace}},
	}, metav1.CreateOptions{})
	say("bind a role", []any{failure(err), failure(err2)})
}

func (t *tester) leases() {
	api := t.client.CoordinationV1().Leases(t.namespace)
	when := metav1.NewMicroTime(time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC))
	made, err := api.Create(t, &coordinationv1.Lease{ObjectMeta: meta("l"), Spec: coordinationv1.LeaseSpec{
		HolderIdentity: ptr.To("me"), LeaseDurationSeconds: ptr.To[int32](15), RenewTime: &when,
	}}, metav1.CreateOptions{})
	say("lease", []any{made.Spec, made.Spec.RenewTime.Equal(&when), failure(err)})
}

func (t *tester) lists() {
	api := t.client.CoreV1().ConfigMaps(t.namespace)
	for _, name := range []string{"l1", "l2", "l3"} {
		_, _ = api.Create(t, &corev1.ConfigMap{ObjectMeta: meta(name)}, metav1.CreateOptions{})
	}
	page, err := api.List(t, metav1.ListOptions{Limit: 2, LabelSelector: "from=go"})
	say("page", []any{names(page.Items), page.Continue != "", page.RemainingItemCount, failure(err)})
	page, err = api.List(t, metav1.ListOptions{Limit: 2, LabelSelector: "from=go", Continue: page.Continue})
	say("last page", []any{names(page.Items), page.Continue, failure(err)})
	page, err = api.List(t, metav1.ListOptions{FieldSelector: "metadata.name=l2"})
	say("by name", []any{names(page.Items), failure(err)})
	_, err = api.List(t, metav1.ListOptions{FieldSelector: "spec.nonsense=1"})
	say("by nonsense", failure(err))
	say("delete all", failure(api.DeleteCollection(t, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "from=go"})))
	page, err = api.List(t, metav1.ListOptions{LabelSelector: "from=go"})
	say("none left", []any{names(page.Items), failure(err)})
}

func names(items []corev1.ConfigMap) []string {
	found := []string{}
	for _, item := range items {
		found = append(found, item.Name)
	}
	sort.Strings(found)
	return found
}

// informer follows secrets from the stream of what is there to changes and deletions.
func (t *tester) informer() error {
	api := t.client.CoreV1().Secrets(t.namespace)
	secret, err := api.Create(t, &corev1.Secret{ObjectMeta: meta("s"), StringData: map[string]string{"k": "v"}}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	events := make(chan []any, 10)
	factory := informers.NewSharedInformerFactoryWithOptions(t.client, 0, informers.WithNamespace(t.namespace))
	secrets := factory.Core().V1().Secrets()
	_, err = secrets.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- []any{"added", obj.(*corev1.Secret).Data} },
		UpdateFunc: func(_, obj any) { events <- []any{"updated", obj.(*corev1.Secret).Data} },
		DeleteFunc: func(obj any) { events <- []any{"deleted", obj.(*corev1.Secret).Name} },
	})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(t)
	defer factory.Shutdown()
	defer stop()
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	say("informer", <-events)
	secret.Data["k"] = []byte("w")
	if _, err := api.Update(t, secret, metav1.UpdateOptions{}); err != nil {
		return err
	}
	say("informer", <-events)
	if err := api.Delete(t, "s", metav1.DeleteOptions{}); err != nil {
		return err
	}
	say("informer", <-events)
	return nil
}
