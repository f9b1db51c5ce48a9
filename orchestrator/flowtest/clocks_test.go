package flowtest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

type lap struct {
	Name string        `json:"name"`
	Took time.Duration `json:"took"`
	At   *time.Time    `json:"at,omitempty"`
	MS   int64         `json:"ms,omitempty"`
}

type race3 struct {
	Laps   []lap                    `json:"laps"`
	ByName map[string]time.Duration `json:"byName"`
	Best   *lap                     `json:"best"`
	Any    any                      `json:"any"`
	Two    [2]lap                   `json:"two"`
}

func laps(d time.Duration) race3 {
	at := time.Date(2030, 1, 1, 0, 0, 0, int(d), time.UTC)
	l := lap{Name: "a", Took: d, At: &at, MS: int64(d)}
	return race3{Laps: []lap{l}, ByName: map[string]time.Duration{"a": d}, Best: &l, Any: "x", Two: [2]lap{l, {Name: "b"}}}
}

func TestClocklessByType(t *testing.T) {
	out := laps(3)
	zero := time.Time{}
	want := lap{Name: "a", At: &zero, MS: 3}
	assert.Equal(t, race3{
		Laps: []lap{want}, ByName: map[string]time.Duration{"a": 0}, Best: &want, Any: "x", Two: [2]lap{want, {Name: "b"}},
	}, flowtest.Clockless(out), "values of the types of package time; that a time is there still counts")
	assert.Equal(t, laps(3), out, "the copy alone is changed")
	assert.Zero(t, flowtest.Clockless(3*time.Second), "a duration itself")
}

func TestClocklessByName(t *testing.T) {
	got := flowtest.Clockless(laps(3), "ms", "byName")
	assert.Equal(t, time.Duration(3), got.Laps[0].Took, "types do not matter then")
	assert.Zero(t, got.Laps[0].MS)
	assert.Zero(t, got.Best.MS)
	assert.Nil(t, got.ByName)
}

// timed takes longer when it is killed and resumed.
func timed() *flowtest.Case[int, lap] {
	f := orchestrator.Flow[int, lap]{Name: "timed", Do: func(c *orchestrator.Context, _ int) (lap, error) {
		resp, err := c.Call("writer", agent.Request{})
		return lap{Name: resp.Text, Took: c.Elapsed()}, err
	}}
	return flowtest.New(f, 0, func(tb testing.TB) agent.Roster {
		return agent.Roster{"writer": flowtest.NewScript(tb, flowtest.Delay(time.Second, "fine"))}
	})
}

func TestSweepLeavesOutClocks(t *testing.T) {
	t.Run("by type", func(t *testing.T) { timed().Sweep(t) })
	t.Run("by name", func(t *testing.T) {
		k := timed()
		k.Clocks = []string{"took"}
		k.Sweep(t)
	})
}
