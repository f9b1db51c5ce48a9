package dialect_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/providers"
)

const none = -1 // orchestrator.None

// part recurs, and has money and time at every depth.
type part struct {
	ID    string                       `json:"id"`
	Wait  time.Duration                `json:"wait,omitzero"`
	Cost  *providers.NanoUSD           `json:"cost,omitempty"`
	Parts []part                       `json:"parts,omitempty"`
	Next  *part                        `json:"next,omitempty"`
	Names map[string]providers.NanoUSD `json:"names,omitempty"`
	Times map[int]time.Duration        `json:"times,omitempty"`
	Pair  [2]time.Duration             `json:"pair"`
}

type common struct {
	Status string        `json:"status"`
	Spent  time.Duration `json:"spent,omitzero"`
}

type Hidden struct {
	Plain string // hidden by that of whole
	Shown int    `json:"shown"`
}

// whole embeds as Outcomes do, and calls the dialect in its own methods.
type whole struct {
	common
	*Hidden
	Status string            `json:"state"`
	At     time.Time         `json:"at,omitzero"`
	Part   part              `json:"part,omitzero"`
	Any    any               `json:"any,omitempty"`
	Raw    json.RawMessage   `json:"raw,omitempty"`
	Bytes  []byte            `json:"bytes,omitempty"`
	Usage  providers.Usage   `json:"usage,omitzero"`
	Upper  map[lower]float64 `json:"upper,omitempty"`
	Skip   func()            `json:"-"`
	Plain  bool
}

func (w whole) MarshalJSON() ([]byte, error)     { return dialect.Encode(w) }
func (w *whole) UnmarshalJSON(data []byte) error { return dialect.Decode(data, w) }

// lower writes itself in upper case.
type lower string

func (l lower) MarshalText() ([]byte, error) { return []byte(strings.ToUpper(string(l))), nil }
func (l *lower) UnmarshalText(data []byte) error {
	*l = lower(strings.ToLower(string(data)))
	return nil
}

func TestEncode(t *testing.T) {
	cost := providers.Dollars(0.25)
	w := whole{
		common: common{Status: "done", Spent: time.Minute}, Status: "own", Part: part{
			ID: "a", Cost: &cost, Next: &part{ID: "b", Wait: time.Second}, Parts: []part{{ID: "c", Names: map[string]providers.NanoUSD{"x": 1}}},
			Times: map[int]time.Duration{2: time.Hour, 1: none},
		},
		Any: map[string]any{"wait": 2 * time.Second}, Raw: json.RawMessage(`{"b": 1}`), Bytes: []byte("hi"), Usage: providers.Usage{Calls: 1, Cost: providers.USD},
		Upper: map[lower]float64{"k": 1},
	}
	data, err := json.Marshal(w)
	require.NoError(t, err)
	assert.Equal(t, `{"status":"done","spent":"1m0s","state":"own",`+
		`"part":{"id":"a","cost":0.25,"parts":[{"id":"c","names":{"x":0.000000001},"pair":["0s","0s"]}],`+
		`"next":{"id":"b","wait":"1s","pair":["0s","0s"]},"times":{"1":-1,"2":"1h0m0s"},"pair":["0s","0s"]},`+
		`"any":{"wait":"2s"},"raw":{"b":1},"bytes":"aGk=","usage":{"calls":1,"cost":1},"upper":{"k":1},"Plain":false}`, string(data))
	var got whole
	require.NoError(t, json.Unmarshal(data, &got))
	w.Any, w.Raw = map[string]any{"wait": "2s"}, json.RawMessage(`{"b":1}`)
	assert.Equal(t, w, got)
	assert.Nil(t, got.Hidden, "nothing of it was there")
	require.NoError(t, json.Unmarshal([]byte(`{"shown":3}`), &got))
	assert.Equal(t, 3, got.Shown)
}

// word has methods that call the dialect, and is no struct.
type word string

func (w word) MarshalJSON() ([]byte, error)     { return dialect.Encode(w) }
func (w *word) UnmarshalJSON(data []byte) error { return dialect.Decode(data, w) }

func TestMethodsOfScalars(t *testing.T) {
	data, err := json.Marshal([]word{"a"})
	require.NoError(t, err)
	assert.Equal(t, `["a"]`, string(data))
	var got []word
	require.NoError(t, json.Unmarshal(data, &got))
	assert.Equal(t, []word{"a"}, got)
	require.EqualError(t, dialect.Decode([]byte(`["a",1]`), &got), "[1] is a JSON number, want a string")
}

// What has neither time nor money is written and read as encoding/json does.
func TestAsEncodingJSON(t *testing.T) {
	type inner struct {
		A int     `json:"a,omitempty"`
		B *string `json:"b"`
		C []int8  `json:"c,omitzero"`
	}
	type Embedded struct {
		D map[string][]inner `json:"d"`
		E any                `json:"e,omitempty"`
	}
	type value struct {
		Embedded
		*inner
		F [2]float32 `json:"f"`
		G uint16     `json:"g,omitempty"`
		H time.Time  `json:"h,omitzero"`
		A string     // as a in JSON if case is ignored
		I []byte     `json:"i"`
	}
	text := rapid.StringMatching(`[a-c<>é"\\]{0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		some := func() inner {
			return inner{rapid.IntRange(0, 2).Draw(t, "a"), rapid.Ptr(text, true).Draw(t, "b"), rapid.SliceOfN(rapid.Int8(), 0, 2).Draw(t, "c")}
		}
		v := value{A: text.Draw(t, "A"), G: rapid.Uint16Range(0, 1).Draw(t, "g"), I: rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "i")}
		if rapid.Bool().Draw(t, "embedded") {
			v.inner = nil
			v.D = map[string][]inner{text.Draw(t, "key"): {some()}, "k": nil}
			v.E = rapid.SampledFrom([]any{nil, 1.5, "x", true, []any{nil}}).Draw(t, "e")
		}
		want, err := json.Marshal(v)
		require.NoError(t, err)
		got, err := dialect.Encode(v)
		require.NoError(t, err)
		escaped, err := json.Marshal(json.RawMessage(got))
		require.NoError(t, err)
		require.Equal(t, string(want), string(escaped))
		var theirs, ours value
		require.NoError(t, json.Unmarshal(want, &theirs))
		require.NoError(t, dialect.Decode(want, &ours))
		require.Equal(t, theirs, ours)
	})
}

func TestRoundTrip(t *testing.T) {
	amount := rapid.OneOf(rapid.Int64(), rapid.SampledFrom([]int64{-1, 0, 1, -int64(providers.USD), math.MaxInt64, math.MinInt64}))
	var draw func(t *rapid.T, depth int) part
	draw = func(t *rapid.T, depth int) part {
		p := part{ID: rapid.String().Draw(t, "id"), Wait: time.Duration(amount.Draw(t, "wait"))}
		p.Pair[1] = time.Duration(amount.Draw(t, "pair"))
		if depth == 0 {
			return p
		}
		if rapid.Bool().Draw(t, "costs") {
			p.Cost = new(providers.NanoUSD(amount.Draw(t, "cost")))
		}
		for range rapid.IntRange(0, 2).Draw(t, "parts") {
			p.Parts = append(p.Parts, draw(t, depth-1))
		}
		if rapid.Bool().Draw(t, "next") {
			p.Next = new(draw(t, depth-1))
		}
		if rapid.Bool().Draw(t, "maps") {
			p.Names = map[string]providers.NanoUSD{rapid.String().Draw(t, "key"): providers.NanoUSD(amount.Draw(t, "value"))}
			p.Times = map[int]time.Duration{rapid.Int().Draw(t, "n"): time.Duration(amount.Draw(t, "time"))}
		}
		return p
	}
	rapid.Check(t, func(t *rapid.T) {
		want := whole{common: common{Spent: time.Duration(amount.Draw(t, "spent"))}, Part: draw(t, 3)}
		data, err := json.Marshal(want)
		require.NoError(t, err)
		var got whole
		require.NoError(t, json.Unmarshal(data, &got))
		require.Equal(t, want, got)
	})
}

func TestFaults(t *testing.T) {
	const duration, money = `want a duration such as "5m", or a number of seconds`, "want USD with at most 9 decimals"
	for _, tt := range []struct{ data, want string }{
		{`[]`, "is a JSON array, want an object"},
		{`{`, "is no JSON: unexpected end of JSON input"},
		{`{"part":{"wait":"soon","cost":"1","id":3}}`, "part.id is a JSON number, want a string\npart.wait is \"soon\", " + duration + "\npart.cost is \"1\", " + money},
		{`{"part":{"wait":null}}`, "part.wait is null, " + duration},
		{`{"part":{"cost":0.0000000001}}`, "part.cost is 0.0000000001, " + money},
		{`{"part":{"cost":1e30}}`, "part.cost is 1e30, " + money},
		{`{"part":{"cost":1e99999999}}`, "part.cost is 1e99999999, " + money},
		{`{"part":{"parts":[{},{"next":{"wiat":1}}]}}`, "part.parts[1].next.wiat is unknown"},
		{`{"part":{"names":{"x":"y"},"times":{"one":1,"2":true}}}`, "part.names.x is \"y\", " + money + "\n" +
			"part.times.2 is true, " + duration + "\npart.times.one is no key: invalid character 'o' looking for beginning of value"},
		{`{"part":{"pair":{}}}`, "part.pair is a JSON object, want a list"},
		{`{"Status":"x","Skip":1,"at":"today"}`, "at parsing time \"today\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"today\" as \"2006\"\nSkip is unknown\nStatus is unknown"},
		{`{"Plain":1,"usage":{"calls":1.5}}`, "usage.calls is a JSON number 1.5, want a whole number\nPlain is a JSON number, want a bool"},
	} {
		err := dialect.Decode([]byte(tt.data), &whole{})
		require.EqualError(t, err, tt.want, tt.data)
		faults, ok := errors.AsType[dialect.Faults](err)
		require.True(t, ok)
		assert.NotEmpty(t, faults)
	}
}

func TestDecodeLenient(t *testing.T) {
	var p part
	require.NoError(t, dialect.DecodeLenient([]byte(`{"id":"a","new":1,"next":{"new":{},"wait":"1s"},"parts":[{"new":1}]}`), &p))
	assert.Equal(t, part{ID: "a", Next: &part{Wait: time.Second}, Parts: []part{{}}}, p)
	require.EqualError(t, dialect.DecodeLenient([]byte(`{"next":{"wait":true,"new":1}}`), &p), `next.wait is true, want a duration such as "5m", or a number of seconds`)
}

func TestDecodeKeeps(t *testing.T) {
	names := map[string]providers.NanoUSD{"a": 1}
	p := part{Wait: time.Minute, Names: names, Parts: []part{{ID: "p"}}, Next: &part{ID: "n", Wait: time.Hour}}
	require.NoError(t, dialect.Decode([]byte(`{"names":{"b":2},"parts":null,"next":{"id":"m"}}`), &p))
	assert.Equal(t, map[string]providers.NanoUSD{"a": 1, "b": 2 * providers.USD}, p.Names)
	assert.Len(t, names, 1, "the map of before is not changed")
	assert.Equal(t, []part{{ID: "p"}}, p.Parts, "null mentions nothing")
	assert.Equal(t, part{ID: "m", Wait: time.Hour}, *p.Next)
	require.Error(t, dialect.Decode([]byte(`{"names":{"c":3,"d":""},"parts":[{"id":"q"},{"id":1}],"wait":1}`), &p))
	assert.Len(t, p.Names, 2, "a map is read as a whole or not at all")
	assert.Equal(t, []part{{ID: "p"}}, p.Parts, "and so is a list")
	require.NoError(t, dialect.Decode([]byte(`{"parts":[],"next":null}`), &p))
	assert.Empty(t, p.Parts)
	assert.Nil(t, p.Next)
}

func TestEncodeFaults(t *testing.T) {
	type loop struct {
		Next *loop   `json:"next"`
		Rate float64 `json:"rate"`
	}
	self := loop{}
	self.Next = &self
	_, err := dialect.Encode(self)
	require.ErrorContains(t, err, "is nested more than 1000 deep: does it contain itself?")
	_, err = dialect.Encode(loop{Next: &loop{Rate: math.NaN()}})
	require.EqualError(t, err, "next.rate has no JSON form: unsupported value: NaN")
	_, err = dialect.Encode(map[string]any{"f": func() {}})
	require.EqualError(t, err, "f has no JSON form: unsupported type: func()")
	_, err = dialect.Encode([]map[bool]int{{true: 1}})
	require.EqualError(t, err, "[0] has keys of the type bool, want texts or whole numbers")
	data, err := dialect.Encode(nil)
	require.NoError(t, err)
	assert.Equal(t, "null", string(data))
	data, err = dialect.Encode((*loop)(nil))
	require.NoError(t, err)
	assert.Equal(t, "null", string(data))
}
