package dialect

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Fault is what is wrong with one part of a JSON text.
type Fault struct {
	Path string // such as "limits.cost" or "team[2].agent"; "": the text as a whole
	What string // such as "is unknown"
}

// Faults are all that is wrong with a JSON text. They are one error, a line for each.
type Faults []Fault //nolint:errname // as Fault

func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = strings.TrimSpace(fault.Path + " " + fault.What)
	}
	return strings.Join(lines, "\n")
}

// at returns f with more faults, which are of the part of that name.
func (f Faults) at(name string, more Faults) Faults {
	for _, m := range more {
		m.Path = strings.TrimSuffix(strings.ReplaceAll(name+"."+m.Path, ".[", "["), ".")
		f = append(f, m)
	}
	return f
}

// faultOf returns an error of encoding/json in our words, or nil. lead comes before words
// that are not ours.
func faultOf(err error, lead string) Faults {
	if err == nil {
		return nil
	}
	if found, ok := errors.AsType[Faults](err); ok {
		return found
	}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		var all Faults
		for _, one := range several.Unwrap() {
			all = append(all, faultOf(one, lead)...)
		}
		return all
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return Faults{{t.Field, fmt.Sprintf("is a JSON %s, want %s", t.Value, plain(t.Type))}}
	}
	what := strings.TrimPrefix(err.Error(), "json: ")
	if name, ok := strings.CutPrefix(what, "unknown field "); ok {
		return Faults{{strings.Trim(name, `"`), "is unknown"}}
	}
	return Faults{{What: lead + what}}
}

// plain returns the name that JSON has for a type.
func plain(t reflect.Type) string {
	switch t.Kind() { //nolint:exhaustive // others have methods of their own, or none
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Bool:
		return "a bool"
	case reflect.String:
		return "a string"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number"
	default:
		return "a " + t.String()
	}
}
