package team

import (
	"reflect"
	"slices"
)

// Roles returns what a Config wants each agent for, by its name: the path of the field that
// has the name, such as "Agents.Critic". It is for orchestrator.Flow.Roles, so that the error
// of an agent that the roster does not have says where it is wanted. cfg has its defaults.
// Fields ID and Name name no agents, and what interfaces hold is not looked at.
func Roles(cfg any, agents []string) map[string]string {
	roles := map[string]string{}
	find(reflect.ValueOf(cfg), func(name, path string) {
		if roles[name] == "" && slices.Contains(agents, name) {
			roles[name] = path
		}
	})
	return roles
}

// find calls found with each text in v, in the order of the source, and its path.
func find(v reflect.Value, found func(text, path string)) {
	walk(v, "", func(path string, f reflect.StructField, v reflect.Value) {
		if v.Kind() == reflect.String && f.Name != "ID" && f.Name != "Name" {
			found(v.String(), path)
		}
	})
}
