package team

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Roles returns what a Config wants each agent for, by its name: the path of the field that
// has the name, such as "Agents.Critic". It is for orchestrator.Flow.Roles, so that the error
// of an agent that the roster does not have says where it is wanted. cfg has its defaults.
// Fields ID and Name name no agents, and what interfaces hold is not looked at.
func Roles(cfg any, agents []string) map[string]string {
	roles := map[string]string{}
	find(reflect.ValueOf(cfg), "", 0, func(name, path string) {
		if path != "" && roles[name] == "" && slices.Contains(agents, name) {
			roles[name] = path
		}
	})
	return roles
}

// find calls found with each text in v, in the order of the source, and its path.
func find(v reflect.Value, path string, depth int, found func(text, path string)) {
	if depth > 16 { // it may point to itself
		return
	}
	switch v.Kind() { //nolint:exhaustive // no other kind has texts
	case reflect.String:
		found(v.String(), strings.TrimPrefix(path, "."))
	case reflect.Pointer:
		if !v.IsNil() {
			find(v.Elem(), path, depth+1, found)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			switch {
			case !f.IsExported() || f.Name == "ID" || f.Name == "Name":
			case f.Anonymous:
				find(v.Field(i), path, depth+1, found)
			default:
				find(v.Field(i), path+"."+f.Name, depth+1, found)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			find(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1, found)
		}
	case reflect.Map:
		for _, key := range slices.SortedFunc(slices.Values(v.MapKeys()), func(a, b reflect.Value) int {
			return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
		}) {
			find(v.MapIndex(key), fmt.Sprintf("%s[%v]", path, key), depth+1, found)
		}
	}
}
