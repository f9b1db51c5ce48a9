package orchestrator_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/convene-go/convene/blackboard/runlog"
	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/flowtest"
)

// TestApprovalsAgainstAModel asks texts under one key in any order, in processes that end
// at any time. The model is a map from texts to answers.
func TestApprovalsAgainstAModel(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("N12 seed ", seed), func(t *testing.T) {
			flowtest.Bubble(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 12))
				var texts []string
				for range 2 + r.IntN(6) {
					texts = append(texts, string(rune('a'+r.IntN(3))))
				}
				f := flow("asks", func(c *orchestrator.Context) (got []int, err error) {
					for _, text := range texts {
						n, err := orchestrator.Await[int](c, orchestrator.Question{Key: "k", Text: text})
						if err != nil {
							return got, err
						}
						got = append(got, n)
					}
					return got, nil
				})
				c := orchestrator.Config{Store: runlog.NewMemory()}
				model, seen, n := map[string]int{}, []string{"?"}, 0
				if r.IntN(3) == 0 {
					e, err := orchestrator.NewLocal(c)
					require.NoError(t, err)
					run := begin(t, e, f, "x")
					_ = run.AnswerWith(t.Context(), "k", 0, early) // asked or not: it is for the first one
					require.NoError(t, e.Close(t.Context()))
					model[texts[0]] = 0
				}
				for len(model) < distinct(texts) {
					e, err := orchestrator.NewLocal(c)
					require.NoError(t, err)
					run := begin(t, e, f, "x")
					synctest.Wait()
					for len(infoOf(t, run).Questions) > 0 && r.IntN(3) > 0 {
						q := infoOf(t, run).Questions[0]
						require.ErrorIs(t, run.AnswerWith(t.Context(), "k", -1, orchestrator.AnswerOptions{Seen: seen[r.IntN(len(seen))]}), orchestrator.ErrChanged)
						n++
						require.NotContains(t, model, q.Text)
						require.NoError(t, run.AnswerWith(t.Context(), "k", n, orchestrator.AnswerOptions{Seen: q.Hash}))
						model[q.Text], seen = n, append(seen, q.Hash)
						if r.IntN(2) == 0 {
							break
						}
						synctest.Wait()
					}
					require.NoError(t, e.Close(t.Context()))
				}
				got, err := f.Result(t.Context(), begin(t, local(t, c), f, "x"))
				require.NoError(t, err)
				for i, text := range texts {
					assert.Equal(t, model[text], got[i], "question %d", i)
				}
			})
		})
	}
}

func distinct(texts []string) int {
	found := map[string]bool{}
	for _, text := range texts {
		found[text] = true
	}
	return len(found)
}

// TestSweepOfQuestionsAskedTwice ends the process behind each record of a flow that asks
// the same twice and something else under the same key.
func TestSweepOfQuestionsAskedTwice(t *testing.T) {
	t.Run("N12 sweep", func(t *testing.T) {
		f := flow("asks twice", func(c *orchestrator.Context) (got []string, err error) {
			for _, text := range []string{"10 to A", "10 to A", "10,000 to B", "10 to A"} {
				q := orchestrator.Question{Key: "pay", Text: text, Options: []string{"yes", "no"}}
				both := orchestrator.Map(c, make([]int, 2), 0, func(c *orchestrator.Context, _ int) (string, error) {
					said, err := orchestrator.Await[string](c, q)
					c.Emit("said", said)
					return said, err
				})
				all, err := orchestrator.Values(both)
				if err != nil {
					return nil, err
				}
				got = append(got, all...)
			}
			return got, nil
		})
		c := flowtest.New(f, none{}, func(testing.TB) agent.Roster { return nil })
		c.Answers = map[string]any{"pay": "yes"}
		c.Sweep(t)
	})
}
