// An operator as people write them with controller-runtime: it plants gardens as ConfigMaps and clears them again.
//
//	operator-go NAMESPACE IDENTITY     the operator, of which one at a time leads
//	operator-go watch NAMESPACE        the names of Pods, ConfigMaps and Deployments, as informers of client-go see them
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1apply "k8s.io/client-go/applyconfigurations/core/v1"
	metav1apply "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/record"
	ctrl "sigs.k8s.io/controller-runtime"
	kcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

const finalizer = "clients.example.com/clear"

var gardens = schema.GroupVersion{Group: "clients.example.com", Version: "v1"}

type GardenSpec struct {
	Beds int `json:"beds"`
}

type GardenStatus struct {
	Beds int `json:"beds"`
}

type Garden struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              GardenSpec   `json:"spec"`
	Status            GardenStatus `json:"status,omitempty"`
}

type GardenList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Garden `json:"items"`
}

func (g *Garden) DeepCopyObject() runtime.Object {
	copied := *g
	copied.ObjectMeta = *g.ObjectMeta.DeepCopy()
	return &copied
}

func (l *GardenList) DeepCopyObject() runtime.Object {
	copied := *l
	copied.Items = nil
	for i := range l.Items {
		copied.Items = append(copied.Items, *l.Items[i].DeepCopyObject().(*Garden))
	}
	return &copied
}

type gardener struct {
	client.Client
	events record.EventRecorder
}

func (g *gardener) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var garden Garden
	if err := g.Get(ctx, request.NamespacedName, &garden); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !garden.DeletionTimestamp.IsZero() {
		if controllerutil.RemoveFinalizer(&garden, finalizer) {
			g.events.Event(&garden, corev1.EventTypeNormal, "Cleared", "nothing grows here any more")
			return ctrl.Result{}, g.Update(ctx, &garden)
		}
		return ctrl.Result{}, nil
	}
	if controllerutil.AddFinalizer(&garden, finalizer) {
		return ctrl.Result{}, g.Update(ctx, &garden)
	}
	owner := metav1apply.OwnerReference().
		WithAPIVersion(gardens.String()).WithKind("Garden").
		WithName(garden.Name).WithUID(garden.UID).
		WithController(true).WithBlockOwnerDeletion(true)
	beds := corev1apply.ConfigMap(garden.Name, garden.Namespace).
		WithOwnerReferences(owner).
		WithData(map[string]string{"beds": strconv.Itoa(garden.Spec.Beds)})
	if err := g.Apply(ctx, beds, client.FieldOwner("gardener"), client.ForceOwnership); err != nil {
		return ctrl.Result{}, err
	}
	if garden.Status.Beds == garden.Spec.Beds {
		return ctrl.Result{}, nil
	}
	garden.Status.Beds = garden.Spec.Beds
	if err := g.Status().Update(ctx, &garden); err != nil {
		return ctrl.Result{}, err
	}
	g.events.Eventf(&garden, corev1.EventTypeNormal, "Planted", "planted %d beds", garden.Spec.Beds)
	return ctrl.Result{}, nil
}

func operate(namespace, identity string) error {
	ctrl.SetLogger(zap.New())
	known := runtime.NewScheme()
	known.AddKnownTypes(gardens, &Garden{}, &GardenList{})
	metav1.AddToGroupVersion(known, gardens)
	if err := scheme.AddToScheme(known); err != nil {
		return err
	}
	lease, renew, retry := 3*time.Second, 2*time.Second, 200*time.Millisecond
	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                        known,
		Cache:                         kcache.Options{DefaultNamespaces: map[string]kcache.Config{namespace: {}}},
		Metrics:                       server.Options{BindAddress: "0"},
		LeaderElection:                true,
		LeaderElectionID:              "gardener",
		LeaderElectionNamespace:       namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease,
		RenewDeadline:                 &renew,
		RetryPeriod:                   &retry,
	})
	if err != nil {
		return err
	}
	plants := &gardener{manager.GetClient(), manager.GetEventRecorderFor(identity)}
	err = ctrl.NewControllerManagedBy(manager).For(&Garden{}).Owns(&corev1.ConfigMap{}).Complete(plants)
	if err != nil {
		return err
	}
	return manager.Start(ctrl.SetupSignalHandler())
}

// Informers by the typed client, in protobuf.
func watch(namespace string) error {
	config := ctrl.GetConfigOrDie()
	config.ContentType = runtime.ContentTypeProtobuf
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithNamespace(namespace))
	for kind, informer := range map[string]cache.SharedIndexInformer{
		"pod":        factory.Core().V1().Pods().Informer(),
		"configmap":  factory.Core().V1().ConfigMaps().Informer(),
		"deployment": factory.Apps().V1().Deployments().Informer(),
	} {
		say := func(verb string, object any) {
			if gone, unknown := object.(cache.DeletedFinalStateUnknown); unknown {
				object = gone.Obj
			}
			fmt.Println(verb, kind, object.(metav1.Object).GetName())
		}
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { say("added", object) },
			UpdateFunc: func(_, object any) { say("updated", object) },
			DeleteFunc: func(object any) { say("deleted", object) },
		})
		if err != nil {
			return err
		}
	}
	ctx := ctrl.SetupSignalHandler()
	factory.Start(ctx.Done())
	for _, synced := range factory.WaitForCacheSync(ctx.Done()) {
		if !synced {
			return fmt.Errorf("the informers have not synced")
		}
	}
	fmt.Println("synced")
	<-ctx.Done()
	return nil
}

func main() {
	var err error
	if len(os.Args) == 3 && os.Args[1] == "watch" {
		err = watch(os.Args[2])
	} else if len(os.Args) == 3 {
		err = operate(os.Args[1], os.Args[2])
	} else {
		err = fmt.Errorf("usage: operator-go NAMESPACE IDENTITY, or operator-go watch NAMESPACE")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
