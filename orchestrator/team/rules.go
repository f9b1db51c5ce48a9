package team

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/convene-go/convene/orchestrator"
)

// A group of rules is a struct. Its fields are rules, which are interfaces, or groups. In
// JSON a rule is the fields of its default. A field with the tag "-" has no JSON: a function,
// a rule without a default, an embedded struct of these.

// FillRules returns rules with the defaults where a rule is nil. It copies rules that are
// of their default's type; a host's own rule is used as it is.
func FillRules[R any](rules, defaults R) R {
	fillRules(reflect.ValueOf(&rules).Elem(), reflect.ValueOf(defaults))
	return rules
}

func fillRules(rules, defaults reflect.Value) {
	eachRule(rules, defaults, "", func(_ string, rule, byDefault reflect.Value) {
		switch {
		case byDefault.IsNil():
		case rule.IsNil():
			rule.Set(clone(byDefault.Elem()))
		case rule.Elem().Type() == byDefault.Elem().Type():
			rule.Set(clone(rule.Elem()))
		}
	})
}

// Rules adds what is wrong with each rule: one that is a nil pointer or a nil function, and
// what its method Validate() error says. The rule behind a method Unwrap is checked, too. name
// is that of the group in its Config.
func (f *Faults) Rules(name string, rules any) {
	v := reflect.ValueOf(rules)
	eachRule(v, v, name+".", func(path string, rule, _ reflect.Value) {
		if !rule.IsNil() {
			f.rule(path, rule.Elem())
		}
	})
}

func (f *Faults) rule(path string, rule reflect.Value) {
	if isNil(rule) {
		name, _, _ := strings.Cut(rule.Type().String(), "[")
		f.Add("%s: it is a nil %s, want a value", path, name)
		return
	}
	if checked, ok := reflect.TypeAssert[interface{ Validate() error }](rule); ok {
		if _, err := guard(path, func() (any, error) { return nil, checked.Validate() }); err != nil {
			f.Add("%w", err)
		}
	}
	if behind := rule.MethodByName("Unwrap"); behind.IsValid() && behind.Type().NumIn() == 0 && behind.Type().NumOut() == 1 {
		wrapped := behind.Call(nil)[0]
		if wrapped.Kind() == reflect.Interface && !wrapped.IsNil() {
			wrapped = wrapped.Elem()
		}
		f.rule(path, wrapped)
	}
}

// isNil reports whether a rule is a nil pointer, function or interface: to ask it would panic.
func isNil(rule reflect.Value) bool {
	switch rule.Kind() { //nolint:exhaustive // others answer
	case reflect.Pointer, reflect.Func, reflect.Interface:
		return rule.IsNil()
	}
	return false
}

// ruleAgents returns the agents that rules name or call: those of each rule that is an
// orchestrator.Declarer.
func ruleAgents(rules any) (names []string) {
	v := reflect.ValueOf(rules)
	eachRule(v, v, "", func(_ string, rule, _ reflect.Value) {
		if calls, ok := reflect.TypeAssert[orchestrator.Declarer](rule); ok && !isNil(rule.Elem()) {
			names = append(names, calls.Agents()...)
		}
	})
	return names
}

// eachRule calls do with each rule of a group, with its path and its default.
func eachRule(group, defaults reflect.Value, path string, do func(path string, rule, byDefault reflect.Value)) {
	for i := range group.NumField() {
		switch field := group.Type().Field(i); field.Type.Kind() { //nolint:exhaustive // functions are no rules
		case reflect.Interface:
			do(path+field.Name, group.Field(i), defaults.Field(i))
		case reflect.Struct:
			if field.Anonymous {
				continue
			}
			eachRule(group.Field(i), defaults.Field(i), path+field.Name+".", do)
		}
	}
}

// DecodeRules reads a group of rules, each as the fields of its default, over the default's
// values: what data does not mention is the default's, and a zero is a zero. The error has
// all faults.
func DecodeRules[R any](data []byte, rules *R, defaults R) error {
	byDefault := reflect.ValueOf(defaults)
	read := plainRules(byDefault, byDefault, "", &Faults{})
	if err := Decode(data, read.Addr().Interface()); err != nil {
		return err
	}
	return takeRules(data, reflect.ValueOf(rules).Elem(), read)
}

// EncodeRules returns the JSON of a group of rules, without the rules that are nil. A rule
// that is not of its default's type is the program's own: the error names it.
func EncodeRules[R any](rules, defaults R) ([]byte, error) {
	var f Faults
	plain := plainRules(reflect.ValueOf(rules), reflect.ValueOf(defaults), "Rules.", &f)
	if err := f.Err(); err != nil {
		return nil, err
	}
	return Encode(plain.Interface())
}

// plainRules returns a struct with copies of the rules of a group that are not nil. Its fields
// have the types of the rules in the place of interfaces.
func plainRules(group, defaults reflect.Value, path string, f *Faults) reflect.Value {
	var fields []reflect.StructField
	var values []reflect.Value
	for i := range group.NumField() {
		field, rule := group.Type().Field(i), group.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-" || rule.IsZero():
			continue
		case rule.Kind() == reflect.Struct:
			rule = plainRules(rule, defaults.Field(i), path+field.Name+".", f)
		case rule.Elem().Type() != defaults.Field(i).Elem().Type():
			f.Add("%s%s is the program's own and has no JSON", path, field.Name)
			continue
		default:
			rule = clone(rule.Elem())
		}
		fields = append(fields, reflect.StructField{Name: field.Name, Type: rule.Type(), Tag: reflect.StructTag(`json:"` + name + `"`)})
		values = append(values, rule)
	}
	plain := reflect.New(reflect.StructOf(fields)).Elem()
	for i, value := range values {
		plain.Field(i).Set(value)
	}
	return plain
}

// takeRules sets the rules that data mentions.
func takeRules(data []byte, group, read reflect.Value) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		return fmt.Errorf("rules: %w", err)
	}
	for i := range read.NumField() {
		field := read.Type().Field(i)
		member, ok := members[field.Tag.Get("json")]
		into := group.FieldByName(field.Name)
		switch {
		case !ok:
		case into.Kind() == reflect.Interface:
			into.Set(read.Field(i))
		default:
			if err := takeRules(member, into, read.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}
