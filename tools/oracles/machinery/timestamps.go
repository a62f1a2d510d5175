package main

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/handlers/fieldmanager"
)

func withoutTimestampChanges(ctx context.Context, object, live runtime.Object, m *manager) (any, error) {
	result, err := fieldmanager.IgnoreManagedFieldsTimestampsTransformer(ctx, object, live)
	if err != nil {
		return nil, err
	}
	return m.encode(result)
}
