package dialect_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/internal/dialect"
	"github.com/convene-go/convene/providers"
)

// branch has methods that call the dialect while an outer call of it is at work.
type branch struct {
	Name  string             `json:"name"`
	Cost  providers.NanoUSD  `json:"cost,omitzero"`
	Twigs []branch           `json:"twigs,omitempty"`
	By    map[string]*branch `json:"by,omitempty"`
}

func (b branch) MarshalJSON() ([]byte, error) { return dialect.Encode(b) }
func (b *branch) UnmarshalJSON(data []byte) error {
	if b.Name = "unnamed"; string(data) == "null" {
		return nil
	}
	return dialect.Decode(data, b)
}

// Methods that call the dialect may do so at any depth.
func TestMethodsInMethods(t *testing.T) {
	v := branch{Name: "a", Twigs: []branch{{Name: "b", Cost: 5, Twigs: []branch{{Name: "c<"}}}}, By: map[string]*branch{"k": {Name: "d", Cost: providers.USD}, "n": nil}}
	const want = `{"name":"a","twigs":[{"name":"b","cost":0.000000005,"twigs":[{"name":"c<"}]}],"by":{"k":{"name":"d","cost":1},"n":null}}`
	data, err := dialect.Encode(v)
	require.NoError(t, err)
	assert.Equal(t, want, string(data))
	data, err = dialect.Encode([]any{v, &v, time.Second})
	require.NoError(t, err)
	assert.Equal(t, "["+want+","+want+`,"1s"]`, string(data))
	var got branch
	require.NoError(t, dialect.Decode([]byte(want), &got))
	assert.Equal(t, v, got)
}

// Faults that such methods return have the path from the outermost text.
func TestFaultsOfMethodsInMethods(t *testing.T) {
	var got map[string][]branch
	err := dialect.Decode([]byte(`{"m":[{},{"twigs":[{"cost":"x","twigs":[{"nme":1}]}],"by":{"k":{"name":2}}}]}`), &got)
	require.EqualError(t, err, strings.Join([]string{
		`m[1].twigs[0].cost is "x", want USD with at most 9 decimals`, "m[1].twigs[0].twigs[0].nme is unknown", "m[1].by.k.name is a JSON number, want a string",
	}, "\n"))
	require.EqualError(t, dialect.DecodeLenient([]byte(`{"m":[{"nme":1}]}`), &got), "m[0].nme is unknown", "a method decides for itself")
	require.NoError(t, dialect.Decode([]byte(`{"m":[null,{}]}`), &got))
	assert.Equal(t, map[string][]branch{"m": {{Name: "unnamed"}, {Name: "unnamed"}}}, got, "a method is asked for null too")
}

type (
	first struct {
		Next   *second           `json:"next,omitempty"`
		Thirds map[string]third  `json:"thirds,omitempty"`
		Pair   [2][]second       `json:"pair"`
		Deep   map[int][]*first  `json:"deep,omitempty"`
		Own    map[string]self   `json:"own,omitempty"`
		Same   *map[string]first `json:"same,omitempty"`
	}
	second struct {
		third
		Firsts []first `json:"firsts"`
	}
	third struct {
		Back *first `json:"back"`
		N    int    `json:"n"`
	}
	self []self
)

// Types may refer to each other and to themselves, through all that holds a value.
func TestTypesThatReferToEachOther(t *testing.T) {
	same(t, "nothing", first{})
	same(t, "a list of its own type", self{{}, nil, {{}, {{}}}})
	leaf := first{Own: map[string]self{"s": {{}, {}}}}
	same(t, "all ways", first{
		Next: &second{third: third{Back: &leaf, N: 1}, Firsts: []first{leaf, {Next: &second{}}}}, Thirds: map[string]third{"t": {Back: &first{}}},
		Pair: [2][]second{{}, {{Firsts: []first{}}}}, Deep: map[int][]*first{3: {nil, &leaf}}, Same: &map[string]first{"x": {}},
	})
}

// What one call returns is not changed by a later one, nor by what the caller does.
func TestNothingIsSharedBetweenCalls(t *testing.T) {
	long := map[string]string{"k": strings.Repeat("long ", 200)}
	one, err := dialect.Encode(long)
	require.NoError(t, err)
	want := string(one)
	two, err := dialect.Encode([]int{1, 2, 3})
	require.NoError(t, err)
	assert.Equal(t, want, string(one))
	_ = append(two, strings.Repeat("x", 4096)...)
	copy(one, strings.Repeat("!", len(one)))
	three, err := dialect.Encode(long)
	require.NoError(t, err)
	assert.Equal(t, want, string(three))
	assert.Equal(t, "[1,2,3]", string(two))
}

// stormy panics when it is written.
type stormy struct{}

func (stormy) MarshalJSON() ([]byte, error) { panic("storm") }

// A call that failed or panicked leaves nothing behind for the next.
func TestFailedCallsLeaveNothing(t *testing.T) {
	for range 100 {
		_, err := dialect.Encode([]any{"written before", func() {}})
		require.ErrorContains(t, err, "[1] has no JSON form: ")
		assert.PanicsWithValue(t, "storm", func() { _, _ = dialect.Encode([]any{"written before", stormy{}}) })
		data, err := dialect.Encode("a")
		require.NoError(t, err)
		assert.Equal(t, `"a"`, string(data))
	}
}

// What was read keeps its letters when the caller writes over the text that it was read from.
func TestWhatIsReadIsNoPartOfTheText(t *testing.T) {
	type held struct {
		Text string
		Raw  json.RawMessage
		Any  any
		Map  map[string]grade
		List []lower
	}
	text := []byte(`{"Text":"plain","Raw":{"r":[1]},"Any":{"x":"any"},"Map":{"key":"B"},"List":["LOW"]}`)
	want := held{"plain", json.RawMessage(`{"r":[1]}`), map[string]any{"x": "any"}, map[string]grade{"key": 1}, []lower{"low"}}
	var got held
	require.NoError(t, dialect.Decode(text, &got))
	copy(text, slices.Repeat([]byte("#"), len(text)))
	assert.Equal(t, want, got)
}

// The types of a value are found once, by the first goroutine; all others see them whole.
func TestNewTypesSideBySide(t *testing.T) {
	for round := range 20 {
		inner := reflect.StructOf([]reflect.StructField{
			{Name: fmt.Sprintf("Wait%d", round), Type: reflect.TypeFor[time.Duration]()}, {Name: "Tree", Type: reflect.TypeFor[*branch]()},
		})
		outer := reflect.StructOf([]reflect.StructField{
			{Name: "Map", Type: reflect.MapOf(reflect.TypeFor[string](), inner)}, {Name: "List", Type: reflect.SliceOf(reflect.PointerTo(inner))},
		})
		text := fmt.Sprintf(`{"Map":{"k":{"Wait%[1]d":"1s","Tree":{"name":"t","cost":0.5}}},"List":[{"Wait%[1]d":-1,"Tree":null}]}`, round)
		var all sync.WaitGroup
		start := make(chan struct{})
		for range 8 {
			all.Go(func() {
				<-start
				v := reflect.New(outer)
				assert.NoError(t, dialect.Decode([]byte(text), v.Interface()))
				data, err := dialect.Encode(v.Interface())
				assert.NoError(t, err)
				assert.Equal(t, text, string(data))
			})
		}
		close(start)
		all.Wait()
	}
}

// Calls side by side do not write into each other's results.
func TestResultsSideBySide(t *testing.T) {
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			v := branch{Name: strings.Repeat(string(rune('a'+i)), 1+i*100), Twigs: make([]branch, i)}
			want, err := dialect.Encode(v)
			assert.NoError(t, err)
			for range 100 {
				data, err := dialect.Encode(v)
				assert.NoError(t, err)
				assert.Equal(t, string(want), string(data))
				var got branch
				assert.NoError(t, dialect.Decode(data, &got))
				assert.Equal(t, v.Name, got.Name)
			}
		})
	}
	all.Wait()
}
