package flowtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/providers"
)

// Clockless returns a copy of out without its clocks, for tests that compare results
// themselves. clocks are names of fields as in Case.Clocks. Without names, every value of
// the types time.Time and time.Duration is zero in the copy. It panics if out does not
// survive JSON.
func Clockless[Out any](out Out, clocks ...string) Out {
	var copied Out
	if err := json.Unmarshal(timeless(out, clocks, clockTypes), &copied); err != nil {
		panic(fmt.Sprintf("flowtest: a %T does not survive JSON: %v", out, err))
	}
	return copied
}

// timeless returns the JSON of a result without its clocks, which are as in Case.Clocks.
// Nil means all values of those types.
func timeless[Out any](out Out, clocks []string, types []reflect.Type) json.RawMessage {
	data := agent.JSON(out)
	if clocks != nil {
		types = slices.DeleteFunc(slices.Clone(types), func(t reflect.Type) bool { return slices.Contains(clockTypes, t) })
	}
	var copied Out
	if len(types) > 0 && json.Unmarshal(data, &copied) == nil {
		setZero(reflect.ValueOf(&copied).Elem(), types)
		data = agent.JSON(copied)
	}
	if clocks != nil {
		tree := decodeJSON(data)
		dropFields(tree, clocks)
		data = agent.JSON(tree)
	}
	return data
}

var (
	clockTypes    = []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration]()}
	unsteadyTypes = append(clockTypes[:2:2], reflect.TypeFor[providers.Usage]()) // a crash may come before the end of a call that was given up
)

// setZero sets every value in v of those types to zero.
func setZero(v reflect.Value, types []reflect.Type) {
	if slices.Contains(types, v.Type()) {
		if v.CanSet() {
			v.SetZero()
		}
		return
	}
	switch v.Kind() { //nolint:exhaustive // the other kinds hold no values
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			setZero(v.Elem(), types)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			setZero(v.Field(i), types)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			setZero(v.Index(i), types)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			stopped := reflect.New(v.Type().Elem()).Elem()
			stopped.Set(v.MapIndex(key))
			setZero(stopped, types)
			v.SetMapIndex(key, stopped)
		}
	}
}

// dropFields removes the fields of these names from every object in tree.
func dropFields(tree any, names []string) {
	switch x := tree.(type) {
	case map[string]any:
		for _, name := range names {
			delete(x, name)
		}
		for _, v := range x {
			dropFields(v, names)
		}
	case []any:
		for _, v := range x {
			dropFields(v, names)
		}
	}
}
