package dialect_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/providers"
)

// grade reads itself from a text, and refuses some.
type grade int

func (g grade) MarshalText() ([]byte, error) {
	if g < 0 {
		return nil, errors.New("a grade below 0 has no name")
	}
	return []byte{'A' + byte(g)}, nil
}

func (g *grade) UnmarshalText(data []byte) error {
	if len(data) != 1 {
		return errors.New("a grade is one letter")
	}
	*g = grade(data[0] - 'A')
	return nil
}

// Each kind of field says what it wants, in the words of JSON.
func TestWhatKindsWant(t *testing.T) {
	type inner struct{ A int }
	type kinds struct {
		Bool   bool
		Text   string
		Int    int64
		Small  int8
		Uint   uint16
		Float  float64
		Object inner
		Map    map[string]int
		List   []string
		Array  [2]bool
		Ptr    *int
		Time   time.Duration
		Money  providers.NanoUSD
	}
	const duration, money = `want a duration such as "5m", or a number of seconds`, "want USD with at most 9 decimals"
	for _, tt := range []struct{ field, value, want string }{
		{"Bool", `1`, "is a JSON number, want a bool"},
		{"Bool", `"true"`, "is a JSON string, want a bool"},
		{"Text", `true`, "is a JSON bool, want a string"},
		{"Text", `{}`, "is a JSON object, want a string"},
		{"Int", `"1"`, "is a JSON string, want a whole number"},
		{"Int", `1.5`, "is a JSON number 1.5, want a whole number"},
		{"Int", `9223372036854775808`, "is a JSON number 9223372036854775808, want a whole number"},
		{"Small", `128`, "is a JSON number 128, want a whole number"},
		{"Uint", `-1`, "is a JSON number -1, want a whole number"},
		{"Float", `"x"`, "is a JSON string, want a number"},
		{"Float", `1e999`, "is a JSON number 1e999, want a number"},
		{"Object", `[]`, "is a JSON array, want an object"},
		{"Object", `"a"`, "is a JSON string, want an object"},
		{"Map", `[1]`, "is a JSON array, want an object"},
		{"Map", `{"k":"v"}`, `k|is a JSON string, want a whole number`},
		{"List", `{}`, "is a JSON object, want a list"},
		{"List", `["a",1]`, `[1]|is a JSON number, want a string`},
		{"Array", `true`, "is a JSON bool, want a list"},
		{"Ptr", `"x"`, "is a JSON string, want a whole number"},
		{"Time", `"soon"`, `is "soon", ` + duration},
		{"Time", `{}`, "is {}, " + duration},
		{"Money", `"0.25"`, `is "0.25", ` + money},
		{"Money", `0.00000000001`, "is 0.00000000001, " + money},
	} {
		t.Run(tt.field+" "+tt.value, func(t *testing.T) {
			want := tt.field + " " + tt.want
			if part, words, ok := cut(tt.want); ok {
				want = tt.field + part + " " + words
			}
			text := `{"` + tt.field + `":` + tt.value + `}`
			require.EqualError(t, dialect.Decode([]byte(text), new(kinds)), want)
			require.EqualError(t, dialect.DecodeLenient([]byte(text), new(kinds)), want, "it is lenient with unknown fields only")
		})
	}
}

// cut returns the path below a field, and the words of the fault.
func cut(want string) (part, words string, ok bool) {
	for i := range want {
		if want[i] == '|' {
			part, words = want[:i], want[i+1:]
			if part[0] != '[' {
				part = "." + part
			}
			return part, words, true
		}
	}
	return "", want, false
}

// One error has all faults of a text, in the order of the fields; unknown ones are last.
func TestAllFaultsAtOnce(t *testing.T) {
	type step struct {
		Wait time.Duration     `json:"wait"`
		Cost providers.NanoUSD `json:"cost"`
	}
	type plan struct {
		Name  string          `json:"name"`
		Steps []step          `json:"steps"`
		By    map[string]step `json:"by"`
	}
	err := dialect.Decode([]byte(`{"zeal":1,"steps":[{"wait":"x"},{"cost":"y","more":2}],"by":{"b":{"wait":[]},"a":{"cost":{}}},"name":3,"alas":4}`), new(plan))
	faults, ok := errors.AsType[dialect.Faults](err)
	require.True(t, ok)
	var paths []string
	for _, f := range faults {
		paths = append(paths, f.Path)
	}
	assert.Equal(t, []string{"name", "steps[0].wait", "steps[1].cost", "steps[1].more", "by.a.cost", "by.b.wait", "alas", "zeal"}, paths)
}

// A key may write and read itself as text; its faults have the path of the map.
func TestKeysThatAreTexts(t *testing.T) {
	data, err := dialect.Encode(map[grade]time.Duration{1: time.Second, 0: time.Minute})
	require.NoError(t, err)
	assert.Equal(t, `{"A":"1m0s","B":"1s"}`, string(data))
	var got map[grade]time.Duration
	require.NoError(t, dialect.Decode(data, &got))
	assert.Equal(t, map[grade]time.Duration{1: time.Second, 0: time.Minute}, got)
	require.EqualError(t, dialect.Decode([]byte(`{"AB":"1s","C":"x"}`), &got),
		"AB is no key: a grade is one letter\nC is \"x\", want a duration such as \"5m\", or a number of seconds")
	_, err = dialect.Encode(map[string]map[grade]int{"m": {-1: 1}})
	require.ErrorContains(t, err, "a grade below 0 has no name")
	_, err = dialect.Encode(map[string]grade{"g": -1})
	require.ErrorContains(t, err, "g has no JSON form: ")
	data, err = dialect.Encode(map[uint8]bool{10: true, 9: false})
	require.NoError(t, err)
	assert.Equal(t, `{"10":true,"9":false}`, string(data), "keys are sorted as texts")
}

// Values without a JSON form are named by their path, at any depth.
func TestEncodeFaultsHavePaths(t *testing.T) {
	type node struct {
		Rates []float64       `json:"rates,omitempty"`
		By    map[string]node `json:"by,omitempty"`
		Next  *node           `json:"next,omitempty"`
		Any   any             `json:"any,omitempty"`
	}
	bad := []float64{0, math.Inf(1)}
	for want, v := range map[string]node{
		"rates[1]":            {Rates: bad},
		"by.k.rates[1]":       {By: map[string]node{"k": {Rates: bad}}},
		"next.next.rates[1]":  {Next: &node{Next: &node{Rates: bad}}},
		"any[0].by.x.any":     {Any: []any{node{By: map[string]node{"x": {Any: make(chan int)}}}}},
		"next.any.deep.y":     {Next: &node{Any: map[string]any{"deep": map[string]any{"y": func() {}}}}},
		"by.a.by.b.any.Value": {By: map[string]node{"a": {By: map[string]node{"b": {Any: struct{ Value complex128 }{1}}}}}},
	} {
		_, err := dialect.Encode(v)
		require.ErrorContains(t, err, want+" has no JSON form: ")
		faults, ok := errors.AsType[dialect.Faults](err)
		require.True(t, ok)
		require.Len(t, faults, 1, "Encode stops at the first")
		assert.Equal(t, want, faults[0].Path)
	}
}

// A list or a map with a fault stays as it was, whatever else the text has.
func TestFaultyPartsStay(t *testing.T) {
	type held struct {
		List []time.Duration              `json:"list"`
		Map  map[string]providers.NanoUSD `json:"map"`
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 4).Draw(t, "entries")
		bad := rapid.IntRange(0, n-1).Draw(t, "bad")
		list, entries := make([]any, n), map[string]any{}
		for i := range n {
			list[i], entries[string(rune('a'+i))] = i, i
		}
		list[bad], entries[string(rune('a'+bad))] = "no", "no"
		text, err := json.Marshal(map[string]any{"list": list, "map": entries})
		require.NoError(t, err)
		before := held{List: []time.Duration{7}, Map: map[string]providers.NanoUSD{"z": 7}}
		got := held{List: []time.Duration{7}, Map: map[string]providers.NanoUSD{"z": 7}}
		faults, ok := errors.AsType[dialect.Faults](dialect.Decode(text, &got))
		require.True(t, ok)
		require.Len(t, faults, 2)
		require.Equal(t, before, got)
	})
}

// Amounts of every size are read as they were written, and -1 is None in both.
func TestEveryAmount(t *testing.T) {
	type amounts struct {
		Time  time.Duration     `json:"time"`
		Money providers.NanoUSD `json:"money"`
		Ptr   *time.Duration    `json:"ptr,omitempty"`
		List  []providers.NanoUSD
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.OneOf(rapid.Int64(), rapid.Int64Range(-2, 2), rapid.Map(rapid.Int64Range(-9, 9), func(usd int64) int64 { return usd * int64(providers.USD) }))
		want := amounts{
			Time: time.Duration(n.Draw(t, "time")), Money: providers.NanoUSD(n.Draw(t, "money")),
			Ptr: new(time.Duration(n.Draw(t, "ptr"))), List: []providers.NanoUSD{providers.NanoUSD(n.Draw(t, "listed"))},
		}
		data, err := dialect.Encode(want)
		require.NoError(t, err)
		var got amounts
		require.NoError(t, dialect.Decode(data, &got))
		require.Equal(t, want, got)
		require.Equal(t, want.Money == none, rawOf(t, data, "money") == "-1", "only None is written as -1")
	})
}

// rawOf returns the JSON of one field.
func rawOf(t *rapid.T, data []byte, field string) string {
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &members))
	return string(members[field])
}
