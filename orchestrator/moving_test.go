package orchestrator_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// A run that is moved while it is under way takes its children along.
func TestMovingARunWithItsChildren(t *testing.T) {
	flowtest.Bubble(t, func(t *testing.T) {
		t.Helper()
		child := orchestrator.Flow[string, string]{Name: "child", Do: func(c *orchestrator.Context, in string) (string, error) {
			var got []string
			for _, p := range []string{"1", "2", strings.Repeat("3", 100<<10), "4"} {
				text, err := ask(c, "a", in+p)
				if err != nil {
					return "", err
				}
				got = append(got, text[:2])
			}
			ok, err := orchestrator.Await[bool](c, orchestrator.Question{Key: "ok"})
			if !ok {
				err = errors.New("not ok")
			}
			return strings.Join(got, " "), err
		}}
		parent := flow("parent", func(c *orchestrator.Context) (string, error) { return child.Child(c, "x") })
		a := newPerCall(after(time.Second))
		here, there := runlog.NewMemory(), runlog.NewMemory()
		c := orchestrator.Config{Agents: agent.Roster{"a": a}, Store: here, Flows: []orchestrator.AnyFlow{parent, child}}
		e, err := orchestrator.NewLocal(c)
		require.NoError(t, err)
		begin(t, e, parent, "p")
		pause(3500 * time.Millisecond)
		require.NoError(t, e.Close(t.Context()))
		require.NoError(t, here.Put(t.Context(), runlog.Letter{Run: "p/0", Key: "ok", Data: []byte("true")}))

		var moved bytes.Buffer
		require.NoError(t, runlog.Export(t.Context(), here, "p", &moved))
		_, err = runlog.Import(t.Context(), there, &moved)
		require.NoError(t, err)
		c.Store = there
		e = local(t, c)
		_, err = e.Resume(t.Context())
		require.NoError(t, err)
		got, err := parent.Result(t.Context(), open(t, e, "p"))
		require.NoError(t, err)
		assert.Equal(t, "x1 x2 x3 x4", got)
		assert.Len(t, a.repeated(), 1, "only the call that was under way")
		assert.Equal(t, 1, strings.Count(strings.Join(kinds(logOf(t, there, "p/0")), " "), runlog.Answered))
	})
}
