package orchestrator_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"net/url"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/discussion"
	"github.com/convene-go/convene/orchestrator/hierarchy"
	"github.com/convene-go/convene/orchestrator/research"
)

type (
	inner struct {
		Note string `json:"note"`
	}
	Outer struct {
		Text string
	}
	count  int
	tree   struct{ Kids []*tree }
	itself struct {
		*Itself
		Name string
	}
	Itself struct {
		*Itself
		Kind string
	}
	secret   struct{ word string } //nolint:unused // it is what JSON loses
	hidden   struct{ List []map[string]*secret }
	half     struct{}
	byValue  struct{ word string } //nolint:unused // the same
	pointers struct{ word string } //nolint:unused // the same
	event    struct {
		time.Time
		Name string
	}
	stamp struct{ time.Time }
	own   struct {
		time.Time
		Name string
	}
	shadow struct {
		inner
		Text string `json:"note"`
	}
)

func (half) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

func (byValue) MarshalText() ([]byte, error) { return nil, nil }
func (*byValue) UnmarshalText([]byte) error  { return nil }

func (*pointers) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (*pointers) UnmarshalJSON([]byte) error   { return nil }

func (own) MarshalJSON() ([]byte, error) { return []byte("1"), nil }
func (*own) UnmarshalJSON([]byte) error  { return nil }

func TestTypesThatSurviveJSON(t *testing.T) {
	type generic[T any] struct {
		Value T `json:"value,omitempty"`
		_     int
		empty none //nolint:unused // nothing to lose
	}
	for _, v := range []any{
		none{},
		"", 1.5,
		[]byte{},
		[2]bool{},
		map[string]int{},
		map[count]inner{},
		map[netip.Addr]string{},
		map[byValue]int{},
		time.Time{},
		time.Second,
		json.RawMessage{},
		json.Number(""), &big.Int{},
		[]big.Int{},
		netip.Addr{},
		stamp{},
		own{},
		byValue{},
		pointers{},
		&pointers{},
		struct{ N big.Int }{},
		[]pointers{},
		map[string]*pointers{},
		generic[*pointers]{},
		generic[any]{},
		generic[[]any]{},
		generic[struct{ inner }]{},
		generic[struct{ *Outer }]{},
		generic[struct {
			inner `json:"inner"`
		}]{},
		tree{},
		struct{ *Itself }{},
		generic[refined]{},
		itself{},
		orchestrator.Outcome{},
		orchestrator.Info{},
		orchestrator.Budget{},
		hierarchy.Input{},
		hierarchy.Outcome{},
		discussion.Input{},
		discussion.Outcome{},
		research.Input{},
		research.Outcome{},
	} {
		t.Run(reflect.TypeOf(v).String(), func(t *testing.T) {
			assert.NoError(t, orchestrator.CheckJSON(reflect.TypeOf(v), "it"))
		})
	}
	assert.NoError(t, orchestrator.CheckJSON(reflect.TypeFor[any](), "it"))
}

func TestTypesThatDoNotSurviveJSON(t *testing.T) {
	same := reflect.StructTag(`json:"a"`) // written out, go vet would refuse it
	twice := reflect.Zero(reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: same}, {Name: "B", Type: reflect.TypeFor[int](), Tag: same},
	})).Interface()
	const export = ": it is not exported: export it, or give "
	for _, tt := range []struct {
		v    any
		want []string // each in the error
	}{
		{secret{}, []string{"the input does not survive JSON: orchestrator_test.secret.word" + export + "orchestrator_test.secret the methods MarshalJSON and UnmarshalJSON"}},
		{hidden{}, []string{"orchestrator_test.hidden.List[][].word" + export}},
		{struct {
			A func()
			B chan int
			C complex128
			D error
		}{}, []string{".A: a func() has no JSON form", ".B: a chan int has no JSON form", ".C: a complex128 has no JSON form", ".D: an interface with methods (error) cannot be decoded"}},
		{twice, []string{`.B: its name in JSON, "a", is that of struct`}},
		{shadow{}, []string{`orchestrator_test.shadow.Text: its name in JSON, "note", is that of orchestrator_test.shadow.inner.Note, too`}},
		{map[bool]int{}, []string{"map[bool]int: bool cannot be a key in JSON"}},
		{map[float64]int{}, []string{"float64 cannot be a key"}},
		{map[half]int{}, []string{"orchestrator_test.half cannot be a key"}},
		{struct{ *inner }{}, []string{".inner" + export}},
		{struct{ count }{}, []string{".count" + export}},
		{half{}, []string{"orchestrator_test.half has MarshalJSON, but not UnmarshalJSON"}},
		{map[string]pointers{}, []string{"MarshalJSON of *orchestrator_test.pointers is not called for a orchestrator_test.pointers in a map: use a pointer"}},
		{struct{ N map[int]big.Int }{}, []string{".N: MarshalJSON of *big.Int is not called for a big.Int in a map: use a pointer"}},
		{event{}, []string{"MarshalJSON of a type that orchestrator_test.event embeds writes only that"}},
		{url.URL{}, []string{"url.URL.User.username" + export}},
		{&sync.Mutex{}, []string{"it is not exported"}},
	} {
		t.Run(reflect.TypeOf(tt.v).String(), func(t *testing.T) {
			for range 2 { // the second is the kept result
				err := orchestrator.CheckJSON(reflect.TypeOf(tt.v), "the input")
				require.Error(t, err)
				for _, want := range tt.want {
					assert.ErrorContains(t, err, want)
				}
			}
		})
	}
}

// Methods of pointers are called, also where a flow takes and returns values.
func TestMethodsOfPointersAreCalled(t *testing.T) {
	type numbers struct{ N big.Int }
	double := orchestrator.Flow[numbers, numbers]{Name: "double", Do: func(_ *orchestrator.Context, in numbers) (out numbers, err error) {
		out.N.Add(&in.N, &in.N)
		return out, nil
	}}
	quadruple := orchestrator.Flow[numbers, numbers]{Name: "quadruple", Do: func(c *orchestrator.Context, in numbers) (numbers, error) {
		twice, err := double.Child(c, in)
		if err != nil {
			return twice, err
		}
		return double.Child(c, twice)
	}}
	var in numbers
	in.N.SetInt64(3)
	got, err := quadruple.Run(t.Context(), local(t, orchestrator.Config{}), in)
	require.NoError(t, err)
	assert.Equal(t, "12", got.N.String())
}

func TestCheckJSONAtTheSameTime(t *testing.T) {
	type fresh struct{ a, b int } //nolint:unused // the same
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { assert.Error(t, orchestrator.CheckJSON(reflect.TypeFor[fresh](), "it")) })
	}
	all.Wait()
}
