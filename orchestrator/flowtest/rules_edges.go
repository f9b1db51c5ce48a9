package flowtest

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"
)

// many is the number of things in a long list.
const many = 10_000

// edges is how many variants of a value there are.
const edges = 6

var (
	oddFloats = [edges]float64{0, 76, 100, math.NaN(), math.Inf(1), math.Inf(-1)}
	oddInts   = [edges]int64{0, 1, 2, -1, many, math.MaxInt32}
	oddTexts  = [edges]string{"", "a", "Write a scene, with dialogue.", "λόγος 物語 👩‍🚀 naïve \u0301", "\x00\xff\n", strings.Repeat("word ", many)}
)

// edge returns the n-th variant of a value of type t: all that it holds are of that variant.
// depth is how deep the value lies in an argument.
func edge(t reflect.Type, n, depth int) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case t == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(oddInts[n], 0).UTC()))
	case t == reflect.TypeFor[error]():
		if n > 0 {
			v.Set(reflect.ValueOf(errors.New(oddTexts[n%5])))
		}
	case v.CanInt():
		v.SetInt(oddInts[n] % 128)
		if t.Bits() > 8 {
			v.SetInt(oddInts[n])
		}
	case v.CanUint():
		v.SetUint(uint64(max(oddInts[n], 0) % 128))
	case v.CanFloat():
		v.SetFloat(oddFloats[n])
	case t.Kind() == reflect.String:
		v.SetString(oddTexts[n])
		if depth > 0 { // one of many things
			v.SetString(oddTexts[n%5])
		}
	case t.Kind() == reflect.Bool:
		v.SetBool(n%2 == 1)
	case t.Kind() == reflect.Pointer && n > 0 && depth < 5:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(edge(t.Elem(), n, depth+1))
	case t.Kind() == reflect.Slice:
		v.Set(list(t, n, depth))
	case t.Kind() == reflect.Struct:
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				v.Field(i).Set(edge(t.Field(i).Type, n, depth+1))
			}
		}
	}
	return v
}

// list returns a slice: none, one, three or many things, which have different IDs and names.
func list(t reflect.Type, n, depth int) reflect.Value {
	size := [edges]int{0, 1, 3, 1, 3, many}[n]
	if depth > 0 {
		size = min(size, 3)
	}
	s := reflect.MakeSlice(t, size, size)
	for i := range size {
		s.Index(i).Set(edge(t.Elem(), (n+i)%edges, depth+1))
		if t.Elem().Kind() != reflect.Struct {
			continue
		}
		for _, name := range []string{"ID", "Name"} {
			if f := s.Index(i).FieldByName(name); f.IsValid() && f.Kind() == reflect.String {
				f.SetString(fmt.Sprintf("%s%d", []string{"a", "é", "物"}[i%3], i))
			}
		}
	}
	return s
}

// invoke returns what a method returns for args, as text, and what it panicked with.
func invoke(method reflect.Value, args []reflect.Value) (answers []reflect.Value, fault string) {
	defer func() {
		if p := recover(); p != nil {
			fault = fmt.Sprintf("it panicked: %v", p)
		}
	}()
	return method.Call(args), ""
}

// shown returns values as texts that can be compared: NaN equals NaN there.
func shown(values []reflect.Value) string {
	var b strings.Builder
	for _, v := range values {
		write(&b, v)
		b.WriteByte(' ')
	}
	return b.String()
}

func write(b *strings.Builder, v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the others show all that they are
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			b.WriteString("nil")
			return
		}
		if err, ok := reflect.TypeAssert[error](v); ok {
			b.WriteString(err.Error())
			return
		}
		write(b, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			write(b, v.Index(i))
			b.WriteByte(',')
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			write(b, field)
			b.WriteByte(';')
		}
	default:
		fmt.Fprint(b, v)
	}
}

// oddities calls a method twice with each variant of its arguments. It returns how the
// answers broke what holds for every pure rule.
func oddities(method reflect.Value) (faults []string) {
	for n := range edges {
		var args []reflect.Value
		for in := range method.Type().Ins() {
			args = append(args, edge(in, n, 0))
		}
		before := shown(args)
		first, fault := invoke(method, args)
		if fault == "" && shown(args) != before {
			fault = "it changed its arguments"
		}
		second, again := invoke(method, args)
		if fault == "" && again == "" && shown(first) != shown(second) {
			fault = fmt.Sprintf("it gave two answers: %s and %s", shortened(shown(first)), shortened(shown(second)))
		}
		if fault != "" {
			faults = append(faults, fmt.Sprintf("for %s: %s", shortened(before), fault))
		}
	}
	return faults
}

// shortened is the beginning of a text.
func shortened(s string) string {
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + "…"
	}
	return s
}
