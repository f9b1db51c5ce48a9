package dialect_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/providers"
)

type (
	Left  struct{ Name, Left string }
	Right struct{ Name, Right string }
	Named struct {
		Name string `json:"Name"`
		Deep
	}
	Deep struct{ Name, Below string }
	Self struct {
		*Self
		Name string
	}
	lowly  struct{ Seen string }
	number int
)

// same checks that the dialect writes and reads v as encoding/json does.
func same[T any](t *testing.T, name string, v T) {
	t.Helper()
	want, err := json.Marshal(v)
	require.NoError(t, err)
	got, err := dialect.Encode(v)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), name)
	var theirs, ours T
	require.NoError(t, json.Unmarshal(want, &theirs), name)
	require.NoError(t, dialect.Decode(want, &ours), name)
	assert.Equal(t, theirs, ours, name)
}

func TestFieldsAreThoseOfEncodingJSON(t *testing.T) {
	same(t, "two of one name at one depth are none", struct {
		Left
		Right
	}{Left{"a", "b"}, Right{"c", "d"}})
	same(t, "the tagged one counts", struct {
		Left
		Named
	}{Left{"a", "b"}, Named{"c", Deep{"d", "e"}}})
	same(t, "the least deep counts", struct {
		Named
		Name string
	}{Named{"a", Deep{"b", "c"}}, "d"})
	same(t, "a tag makes an embedded struct a field", struct {
		Left `json:"left"`
		Right
	}{Left{"a", "b"}, Right{"c", "d"}})
	same(t, "a struct that embeds itself", Self{Name: "a"})
	same(t, "a struct that embeds itself, twice", Self{Self: &Self{Name: "b"}, Name: "a"})
	same(t, "an embedded pointer that is nil", struct{ *Left }{})
	same(t, "an embedded pointer", struct{ *Left }{&Left{"a", "b"}})
	same(t, "an embedded struct that is not exported", struct{ lowly }{lowly{"a"}})
	same(t, "an embedded scalar is a field by its type's name", struct{ number }{})
	same(t, "options without a name", struct {
		A int `json:",omitempty"`
		B int `json:",omitzero"`
		C int `json:"-,"` //nolint:staticcheck // it is the field named -
		D int `json:"-"`
		e int
	}{C: 1})
	same(t, "what omitempty leaves out", struct {
		A []int          `json:",omitempty"`
		B map[string]int `json:",omitempty"`
		C [0]int         `json:",omitempty"`
		D *int           `json:",omitempty"`
		E any            `json:",omitempty"`
		F struct{}       `json:",omitempty"` //nolint:modernize // has no effect: that is the test
		G time.Time      `json:",omitempty"` //nolint:modernize // has no effect
		H bool           `json:",omitempty"`
		I string         `json:",omitempty"`
	}{A: []int{}, B: map[string]int{}})
	same(t, "what omitzero leaves out", struct {
		A []int           `json:",omitzero"`
		B time.Time       `json:",omitzero"`
		C *time.Time      `json:",omitzero"`
		D struct{ X int } `json:",omitzero"`
	}{A: []int{}})
}

func TestScalarsAreThoseOfEncodingJSON(t *testing.T) {
	same(t, "all kinds", struct {
		A bool
		B string
		C int8
		D uint64
		E float32
		F float64
		G number
		H []number
		I [3]bool
		J map[number]string
		K map[uint8]*string
		L **int
		M []byte
		N []any
	}{true, "\u2028\x01é", -8, 1 << 63, 1.5, 1e300, 4, []number{1}, [3]bool{true}, map[number]string{2: "b", 10: "a"}, map[uint8]*string{1: nil}, new(new(3)), []byte{1}, []any{"a", 1.0, nil}})
	same(t, "nothing", struct {
		A []int
		B map[string]int
		C *int
		D any
	}{})
}

// amounts are what the dialect writes, and what it reads as the same.
func TestAmounts(t *testing.T) {
	type amounts struct {
		D time.Duration     `json:"d"`
		M providers.NanoUSD `json:"m"`
	}
	for _, tt := range []struct {
		value   amounts
		written string
		read    []string
	}{
		{amounts{0, 0}, `{"d":"0s","m":0}`, []string{`{"d":0,"m":0.0}`, `{"d":"0","m":0e9}`, `{}`}},
		{amounts{90 * time.Second, providers.USD}, `{"d":"1m30s","m":1}`, []string{`{"d":90,"m":1.000}`, `{"d":"90s","m":1e0}`, `{"d":90.0,"m":10E-1}`}},
		{amounts{1500 * time.Millisecond, 1}, `{"d":"1.5s","m":0.000000001}`, []string{`{"d":1.5,"m":1e-9}`}},
		{amounts{1500, -5}, `{"d":"1.5µs","m":-0.000000005}`, []string{`{"d":"1500ns","m":-5e-9}`, `{"d":"1.5\u00b5s","m":-0.000000005}`}},
		{amounts{-1, -1}, `{"d":-1,"m":-1}`, []string{` {"d" : -1 , "m" : -1 } `}},
		{amounts{-time.Second, -providers.USD}, `{"d":"-1s","m":-1.0}`, []string{`{"d":"-1s","m":-1.00}`, `{"d":-1.0,"m":-10e-1}`}},
		{amounts{1<<63 - 1, 1<<63 - 1}, `{"d":"2562047h47m16.854775807s","m":9223372036.854775807}`, nil},
		{amounts{-1 << 63, -1 << 63}, `{"d":"-2562047h47m16.854775808s","m":-9223372036.854775808}`, nil},
	} {
		data, err := dialect.Encode(tt.value)
		require.NoError(t, err)
		assert.Equal(t, tt.written, string(data))
		for _, text := range append(tt.read, tt.written) {
			var got amounts
			require.NoError(t, dialect.Decode([]byte(text), &got), text)
			assert.Equal(t, tt.value, got, text)
		}
	}
	for _, text := range []string{
		`{"d":"1"}`, `{"d":"5 m"}`, `{"d":true}`, `{"d":[1]}`, `{"d":null}`, `{"d":1e3}`, `{"d":9e99}`, `{"d":"9999999h"}`,
		`{"m":"1"}`, `{"m":true}`, `{"m":null}`, `{"m":{}}`, `{"m":9223372036.854775808}`, `{"m":0.1234567891}`, `{"m":1e-10}`, `{"m":1e12345}`,
	} {
		require.ErrorContains(t, dialect.Decode([]byte(text), new(amounts)), "want ", text)
	}
}

// A type of another name is no money and no time.
func TestOtherNamesOfAmounts(t *testing.T) {
	type wait time.Duration
	type price providers.NanoUSD
	data, err := dialect.Encode(struct {
		W wait
		P price
	}{5, 6})
	require.NoError(t, err)
	assert.JSONEq(t, `{"W":5,"P":6}`, string(data))
}

func TestAmountsInAny(t *testing.T) {
	data, err := dialect.Encode(map[string]any{
		"list": []any{time.Second, providers.USD, &struct{ D time.Duration }{time.Hour}},
		"map":  map[string]time.Duration{"x": 1, "none": -1},
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"list":["1s",1,{"D":"1h0m0s"}],"map":{"x":"1ns","none":-1}}`, string(data))
}

// quiet has methods on its pointer only; loud fails.
type quiet struct{ Word string }

func (q *quiet) MarshalJSON() ([]byte, error) { return json.Marshal("q:" + q.Word) }
func (q *quiet) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &q.Word)
}

type loud struct{}

func (loud) MarshalJSON() ([]byte, error) { return nil, assert.AnError }
func (*loud) UnmarshalJSON([]byte) error  { return assert.AnError }

func TestMethodsOfParts(t *testing.T) {
	type whole struct {
		Q quiet            `json:"q"`
		P *quiet           `json:"p"`
		L []quiet          `json:"l"`
		M map[string]quiet `json:"m"`
	}
	v := whole{quiet{"a"}, &quiet{"b"}, []quiet{{"c"}}, map[string]quiet{"k": {"d"}}}
	data, err := dialect.Encode(&v)
	require.NoError(t, err)
	assert.JSONEq(t, `{"q":"q:a","p":"q:b","l":["q:c"],"m":{"k":{"Word":"d"}}}`, string(data), "as encoding/json: an element of a map has no address")
	var got whole
	require.NoError(t, dialect.Decode([]byte(`{"q":"a","p":"b","l":["c"],"m":{"k":"d"}}`), &got))
	assert.Equal(t, v, got)
	_, err = dialect.Encode(struct{ Parts []loud }{[]loud{{}}})
	require.ErrorContains(t, err, "Parts[0] has no JSON form: ")
	require.ErrorContains(t, err, assert.AnError.Error())
	require.EqualError(t, dialect.Decode([]byte(`{"a":[1,2]}`), &map[string][]loud{}), "a[0] "+assert.AnError.Error()+"\na[1] "+assert.AnError.Error())
}

func TestFaultsOfKeysAndLists(t *testing.T) {
	type value struct {
		ByNumber map[int8]int `json:"byNumber"`
		Pair     [2]int       `json:"pair"`
		Any      any          `json:"any"`
		Small    uint8        `json:"small"`
	}
	var v value
	require.NoError(t, dialect.Decode([]byte(`{"pair":[1,2,3],"any":{"x":[1]},"byNumber":{"-7":1}}`), &v))
	assert.Equal(t, value{ByNumber: map[int8]int{-7: 1}, Pair: [2]int{1, 2}, Any: map[string]any{"x": []any{1.0}}}, v, "an array drops what it has no room for")
	err := dialect.Decode([]byte(`{"byNumber":{"300":1,"x":2,"4":"y"},"pair":["a",2],"small":256}`), &v)
	require.ErrorContains(t, err, "byNumber.300 ")
	require.ErrorContains(t, err, "byNumber.x is no key")
	require.ErrorContains(t, err, "byNumber.4 is a JSON string, want a whole number")
	require.ErrorContains(t, err, "pair[0] is a JSON string, want a whole number")
	require.ErrorContains(t, err, "small is a JSON number 256, want a whole number")
	require.EqualError(t, dialect.Decode([]byte(`{"small":1} x`), &v), "is no JSON: invalid character 'x' after top-level value")
	require.EqualError(t, dialect.Decode([]byte(``), &v), "is no JSON: unexpected end of JSON input")
}

// FuzzDecode: what is read and written is read again as the same.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{}`, `{"wait":"5m","cost":0.25}`, `{"parts":[{"next":{"wait":-1}}]}`, `{"names":{"a":1e-9},"times":{"1":"1s"},"pair":[1]}`, `[`, `null`, `{"wait":1e3}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var p part
		if dialect.Decode([]byte(text), &p) != nil {
			return
		}
		data, err := dialect.Encode(p)
		require.NoError(t, err)
		var again part
		require.NoError(t, dialect.Decode(data, &again), string(data))
		twice, err := dialect.Encode(again)
		require.NoError(t, err)
		assert.Equal(t, string(data), string(twice))
	})
}

// Encode and Decode are safe for several goroutines: the fields of a type are found once.
func TestSideBySide(t *testing.T) {
	type fresh struct {
		Left
		Wait time.Duration
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			want := fresh{Left{Name: "a"}, time.Duration(i)}
			data, err := dialect.Encode(want)
			assert.NoError(t, err)
			var got fresh
			assert.NoError(t, dialect.Decode(data, &got))
			assert.Equal(t, want, got)
		})
	}
	all.Wait()
}

func ExampleEncode() {
	type limits struct {
		Cost providers.NanoUSD `json:"cost,omitzero"`
		Time time.Duration     `json:"time,omitzero"`
	}
	data, err := dialect.Encode(map[string]limits{"run": {Cost: providers.Dollars(0.25), Time: 5 * time.Minute}})
	fmt.Println(string(data), err)
	// Output: {"run":{"cost":0.25,"time":"5m0s"}} <nil>
}

func ExampleDecode() {
	type limits struct {
		Cost providers.NanoUSD `json:"cost,omitzero"`
		Time time.Duration     `json:"time,omitzero"`
	}
	var l limits
	fmt.Println(dialect.Decode([]byte(`{"cost":"1","tme":"5m"}`), &l))
	// Output:
	// cost is "1", want USD with at most 9 decimals
	// tme is unknown
}
