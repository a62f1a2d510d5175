package main

import (
	"fmt"
	"math/rand"
	"strconv"
	"time"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/randfill"
)

var words = []string{"", "", "a", "web", "default", "kube-system", "x.example.dev/y", "größe", "日本", "a\nb", "<&>"}

// filler fills objects with values at the edges of what the encodings distinguish: zeros, empty and absent things.
func filler(seed int64) *randfill.Filler {
	depth := 0 // of schemas, which may hold schemas
	return randfill.NewWithSeed(seed).NilChance(0.55).NumElements(0, 2).MaxDepth(16).Funcs(
		func(s *string, c randfill.Continue) { *s = words[c.Intn(len(words))] },
		func(n *int32, c randfill.Continue) { *n = int32(edge(c)) },
		func(n *int64, c randfill.Continue) { *n = edge(c) },
		func(f *float64, c randfill.Continue) {
			*f = []float64{0, 1, -1, 0.5, 1e-7, 1e20, 1e21, 123456789.25, -2.5e-9}[c.Intn(9)]
		},
		func(*meta.TypeMeta, randfill.Continue) {},
		func(t *meta.Time, c randfill.Continue) {
			if c.Intn(4) > 0 {
				t.Time = time.Unix(c.Int63n(1<<33)-1<<31, c.Int63n(1e9))
			}
		},
		func(t *meta.MicroTime, c randfill.Continue) {
			if c.Intn(4) > 0 {
				t.Time = time.Unix(c.Int63n(1<<33)-1<<31, c.Int63n(1e9))
			}
		},
		func(q *resource.Quantity, c randfill.Continue) {
			texts := []string{"0", "1", "100m", "1.5Gi", "1024Mi", "2e3", "-7k", "0.5", "12345678901234567890n", "1E", "3Ki"}
			*q = resource.MustParse(texts[c.Intn(len(texts))])
		},
		func(v *intstr.IntOrString, c randfill.Continue) {
			if c.Bool() {
				*v = intstr.FromInt32(int32(edge(c)))
			} else {
				*v = intstr.FromString(words[c.Intn(len(words))])
			}
		},
		func(v *runtime.RawExtension, c randfill.Continue) { v.Raw = raw(c) },
		func(v *apiextensions.JSON, c randfill.Continue) { v.Raw = raw(c) },
		func(v *meta.FieldsV1, c randfill.Continue) {
			v.SetRawString(fmt.Sprintf(`{"f:spec":{"f:%s":{}}}`, strconv.Itoa(c.Intn(9))))
		},
		func(v *apiextensions.JSONSchemaProps, c randfill.Continue) {
			if depth++; depth < 4 {
				c.FillNoCustom(v)
			}
			depth--
		},
		func(v *apiextensions.JSONSchemaPropsOrBool, c randfill.Continue) {
			if v.Allows = c.Bool(); c.Bool() {
				v.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
			}
		},
		func(v *apiextensions.JSONSchemaPropsOrArray, c randfill.Continue) {
			if c.Bool() {
				v.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
			} else {
				c.Fill(&v.JSONSchemas)
			}
		},
		func(v *apiextensions.JSONSchemaPropsOrStringArray, c randfill.Continue) {
			if c.Bool() {
				v.Schema = &apiextensions.JSONSchemaProps{Type: "string"}
			} else {
				c.Fill(&v.Property)
			}
		},
	)
}

func edge(c randfill.Continue) int64 {
	switch c.Intn(5) {
	case 0, 1:
		return 0
	case 2:
		return int64(c.Intn(1000))
	case 3:
		return -int64(c.Intn(1000))
	}
	return rand.New(rand.NewSource(c.Int63())).Int63() - rand.New(rand.NewSource(c.Int63())).Int63()
}

func raw(c randfill.Continue) []byte {
	texts := []string{"", "null", "1", `"text"`, `{"a":{"b":[1,null,true]}}`, "[]", "{}"}
	if text := texts[c.Intn(len(texts))]; text != "" {
		return []byte(text)
	}
	return nil
}
