package modeltest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/providers"
	"github.com/convene-go/convene/providers/internal/stubtest"
	"github.com/convene-go/convene/providers/modeltest"
)

// recorder stands in for the T of a check that is to fail.
type recorder struct {
	testing.TB
	mu       sync.Mutex
	messages []string
	skipped  bool
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recorder) Skipf(string, ...any) {
	r.skipped = true
	runtime.Goexit()
}

// complaints runs one check of the suite and returns what it says.
func complaints(t *testing.T, name string, open modeltest.Open) *recorder {
	t.Helper()
	check := modeltest.Checks()[name]
	require.NotNil(t, check, "no such check: %q", name)
	r := &recorder{TB: t}
	var run sync.WaitGroup
	run.Go(func() { check(r, open) })
	run.Wait()
	return r
}

// broken opens the fake model with a fault.
func broken(f fault) modeltest.Open {
	return func(t testing.TB, p modeltest.Play) modeltest.Subject {
		s := stubtest.Open(t, p)
		s.Secrets = []string{secret}
		s.Model = f.breakIt(s.Model)
		return s
	}
}

func TestSuiteFindsFaults(t *testing.T) {
	modeltest.Hurry(t)
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			r := complaints(t, f.check, broken(f))
			assert.NotEmpty(t, r.messages, "the check %s does not see the fault", f.check)
			assert.Contains(t, strings.Join(r.messages, "\n"), f.says)
			if testing.Verbose() {
				t.Logf("%s: %q", f.check, r.messages)
			}
		})
	}
}

// TestEveryCheckSeesAFault keeps checks out that can never fail.
func TestEveryCheckSeesAFault(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range faults {
		seen[f.check] = true
	}
	for name := range modeltest.Checks() {
		assert.True(t, seen[name], "no fault for the check %s", name)
	}
}

func TestSuiteAcceptsTheFake(t *testing.T) { modeltest.Run(t, stubtest.Open) }

// A model whose stub cannot be seen is checked for all that is left.
func TestSuiteWithoutSent(t *testing.T) {
	blind := func(t testing.TB, p modeltest.Play) modeltest.Subject {
		return modeltest.Subject{Model: stubtest.Open(t, p).Model}
	}
	skipped := 0
	for name := range modeltest.Checks() {
		r := complaints(t, name, blind)
		assert.Empty(t, r.messages, name)
		if r.skipped {
			skipped++
		}
	}
	assert.Equal(t, 11, skipped, "the requests, one attempt of a stream, what tools said, and what is sent back")
}

func TestReply(t *testing.T) {
	calls := []providers.ToolCall{{Name: "x", Input: []byte(`{}`)}}
	p := modeltest.Play{Situation: modeltest.ToolCalls, Text: "done", ToolCalls: calls}
	text, got := p.Reply("{}")
	assert.Empty(t, text)
	assert.Equal(t, "x", got[0].Name)
	got[0].Input[0] = '!'
	assert.JSONEq(t, `{}`, string(calls[0].Input), "the stub's own copy")
	text, got = p.Reply("... result-of-the-tool-1 ...")
	assert.Equal(t, "done", text)
	assert.Empty(t, got)
	text, _ = modeltest.Play{Situation: modeltest.Echo}.Reply("say echo-12, please")
	assert.Equal(t, "echo-12", text)
	text, _ = modeltest.Play{Situation: modeltest.Empty, Text: "x"}.Reply("")
	assert.Empty(t, text)
}

func TestChunks(t *testing.T) {
	assert.Equal(t, []string{"12", "34", "56", "7世"}, modeltest.Chunks("1234567世"))
	assert.Equal(t, []string{"a", "b"}, modeltest.Chunks("ab"))
	assert.Empty(t, modeltest.Chunks(""))
}

// What wraps a model keeps its promises.
func TestSuiteAcceptsWrappers(t *testing.T) {
	for name, wrap := range map[string]func(providers.Model) providers.Model{
		"metered": func(m providers.Model) providers.Model {
			return providers.Metered{Model: m, Spec: providers.Spec{Provider: "corp", Model: "x"}}
		},
		"chain": func(m providers.Model) providers.Model {
			c, err := providers.NewChain(m)
			require.NoError(t, err)
			return c
		},
	} {
		t.Run(name, func(t *testing.T) {
			modeltest.Run(t, func(t testing.TB, p modeltest.Play) modeltest.Subject {
				if name == "chain" && p.Situation == modeltest.RateLimited {
					t.Skip("a chain has a cool-down of its own")
				}
				s := stubtest.Open(t, p)
				s.Model = wrap(s.Model)
				return s
			})
		})
	}
}
