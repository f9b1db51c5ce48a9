package team

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/orchestrator"
)

// Tags of the fields of a Config, an Input, and of the structs inside of them:
//
//	default:"300s"   value of a field that is zero, in the form that it has in JSON
//	min:"1"          least value of a number, duration or money, and of what a pointer points to
//	max:"10"         largest value
//	required:"true"  a text, list, map or pointer that must not be empty
//	oneof:"a b c"    what a text may be, beside ""; together with required, not even that
//
// A number with the tag min:"-1" may be orchestrator.None, which [Defaults] makes 0 after
// the default was set: the team's code then reads 0 as "no limit" or "none".

// Defaults sets the fields of a Config that are zero to their defaults, and None to 0.
// config is a pointer to a struct. A tag that cannot be read is a mistake in the team's
// code: Defaults panics.
func Defaults(config any) {
	walk(reflect.ValueOf(config).Elem(), "", func(_ string, f reflect.StructField, v reflect.Value) {
		if text, ok := f.Tag.Lookup("default"); ok && v.IsZero() {
			v.Set(parsed(f.Name, v.Type(), text))
		}
		if f.Tag.Get("min") == "-1" && v.CanInt() && v.Int() == orchestrator.None {
			v.SetInt(0)
		}
	})
}

// Check returns everything that the tags of a Config do not allow, in one error. Each fault
// begins with the path of its field, such as "Team[2].Agent". It is called before [Defaults].
func Check(config any) error {
	var f Faults
	f.Check(config)
	return f.Err()
}

// Check adds everything that the tags of a Config do not allow; see [Check].
func (f *Faults) Check(config any) { f.CheckAt("", config) }

// CheckAt is Check for a part of a Config. path is its name there.
func (f *Faults) CheckAt(path string, part any) {
	own := reflect.New(reflect.TypeOf(part)).Elem()
	own.Set(clone(reflect.ValueOf(part)))
	walk(own, path, f.field)
}

// field adds what the tags of one field do not allow.
func (f *Faults) field(path string, of reflect.StructField, v reflect.Value) {
	if of.Tag.Get("required") != "" && isEmpty(v) {
		f.Add("%s is empty", path)
		return
	}
	if choices := strings.Fields(of.Tag.Get("oneof")); len(choices) > 0 && v.String() != "" && !slices.Contains(choices, v.String()) {
		f.Add("%s is %q, want one of %q", path, v.String(), choices)
	}
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if _, ok := of.Tag.Lookup("default"); ok && v.IsZero() {
		return
	}
	f.inRange(path, of, v)
}

// inRange adds a number that is less than its tag min or more than its tag max. NaN is
// outside of every range.
func (f *Faults) inRange(path string, of reflect.StructField, v reflect.Value) {
	low, hasLow := of.Tag.Lookup("min")
	high, hasHigh := of.Tag.Lookup("max")
	if !hasLow && !hasHigh || !v.CanInt() && !v.CanFloat() {
		return
	}
	if (!hasLow || atLeast(v, parsed(of.Name, v.Type(), low))) && (!hasHigh || atLeast(parsed(of.Name, v.Type(), high), v)) {
		return
	}
	switch {
	case !hasHigh:
		f.Add("%s is %s, want %s or more", path, shown(v), bound(of.Name, v.Type(), low))
	case !hasLow:
		f.Add("%s is %s, want at most %s", path, shown(v), bound(of.Name, v.Type(), high))
	default:
		f.Add("%s is %s, want %s to %s", path, shown(v), bound(of.Name, v.Type(), low), bound(of.Name, v.Type(), high))
	}
}

// atLeast reports whether x is y or more. NaN is never.
func atLeast(x, y reflect.Value) bool {
	if x.CanInt() {
		return x.Int() >= y.Int()
	}
	return x.Float() >= y.Float()
}

// shown returns a number as people read it: money in USD.
func shown(v reflect.Value) string {
	if data, err := dialect.Encode(v.Interface()); err == nil {
		return strings.Trim(string(data), `"`)
	}
	return fmt.Sprint(v) // NaN
}

// bound returns a limit as people read it. -1 is None, which 0 stands for in faults.
func bound(name string, t reflect.Type, tag string) string {
	if tag == "-1" {
		tag = "0"
	}
	return shown(parsed(name, t, tag))
}

// isEmpty reports whether a field holds nothing.
func isEmpty(v reflect.Value) bool {
	switch v.Kind() { //nolint:exhaustive // others are empty if they are zero
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.String:
		return strings.TrimSpace(v.String()) == ""
	default:
		return v.IsZero()
	}
}

// parsed returns the value of a tag, which has the form of JSON, as a t.
func parsed(name string, t reflect.Type, tag string) reflect.Value {
	v := reflect.New(t)
	data := []byte(tag)
	if !json.Valid(data) {
		data = []byte(strconv.Quote(tag))
	}
	if err := dialect.Decode(data, v.Interface()); err != nil {
		panic(fmt.Errorf("team: a tag of the field %s: %w", name, err))
	}
	return v.Elem()
}

// walk calls do with what is in a value, at any depth and in the order of the source: each
// exported field of structs, and each element of lists and maps, which is no field. Those of
// maps are put back.
func walk(v reflect.Value, path string, do func(path string, f reflect.StructField, v reflect.Value)) {
	if strings.Count(path, ".") > 16 { // it may point to itself
		return
	}
	visit := func(at string, v reflect.Value) {
		do(at, reflect.StructField{}, v)
		walk(v, at, do)
	}
	switch v.Kind() { //nolint:exhaustive // nothing is in the others
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if !f.IsExported() {
				continue
			}
			at := strings.TrimPrefix(path+"."+f.Name, ".")
			do(at, f, v.Field(i))
			if f.Anonymous {
				at = path
			}
			walk(v.Field(i), at, do)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), path, do)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			visit(fmt.Sprintf("%s[%d]", path, i), v.Index(i))
		}
	case reflect.Map:
		for _, key := range sortedKeys(v) {
			own := reflect.New(v.Type().Elem()).Elem()
			own.Set(v.MapIndex(key))
			visit(fmt.Sprintf("%s[%v]", path, key), own)
			v.SetMapIndex(key, own)
		}
	}
}

func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return keys
}
