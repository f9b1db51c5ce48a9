package flowtest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/convene-go/convene/orchestrator/agent"
)

// Clockless returns a copy of out without its clocks, for tests that compare results
// themselves. clocks are names of fields as in Case.Clocks. Without names, every value of
// the types time.Time and time.Duration is zero in the copy. It panics if out does not
// survive JSON.
func Clockless[Out any](out Out, clocks ...string) Out {
	var copied Out
	if err := json.Unmarshal(timeless(out, clocks), &copied); err != nil {
		panic(fmt.Sprintf("flowtest: a %T does not survive JSON: %v", out, err))
	}
	return copied
}

// timeless returns the JSON of a result without its clocks, which are as in Case.Clocks.
func timeless[Out any](out Out, clocks []string) json.RawMessage {
	data := agent.JSON(out)
	if clocks != nil {
		tree := decodeJSON(data)
		dropFields(tree, clocks)
		return agent.JSON(tree)
	}
	var copied Out
	if json.Unmarshal(data, &copied) != nil {
		return data
	}
	stopClocks(reflect.ValueOf(&copied).Elem())
	return agent.JSON(copied)
}

var clockTypes = []reflect.Type{reflect.TypeFor[time.Time](), reflect.TypeFor[time.Duration]()}

// stopClocks sets every time and duration in v to zero.
func stopClocks(v reflect.Value) {
	if slices.Contains(clockTypes, v.Type()) {
		if v.CanSet() {
			v.SetZero()
		}
		return
	}
	switch v.Kind() { //nolint:exhaustive // the other kinds hold no values
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			stopClocks(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			stopClocks(v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			stopClocks(v.Index(i))
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			stopped := reflect.New(v.Type().Elem()).Elem()
			stopped.Set(v.MapIndex(key))
			stopClocks(stopped)
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
