package crew_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/engine"
)

// act is one thing that a random test does.
type act struct {
	What  string // start, start deaf, end, cancel, pass
	Calls []int  // numbers of calls that it concerns, modulo how many there are
}

var acts = rapid.Custom(func(t *rapid.T) act {
	return act{
		rapid.SampledFrom([]string{"start", "start", obedient, deaf, deaf, "end", "end", "cancel", "pass"}).Draw(t, "what"),
		rapid.SliceOfN(rapid.IntRange(0, 1000), 1, 4).Draw(t, "calls"),
	}
})

// model is a crew as one would write it down: who works, who waits, who is deaf and was
// canceled. It has no goroutines and no time but a clock of half graces.
type model struct {
	places    int
	now       int
	line      []int
	works     map[int]bool
	deaf      map[int]bool
	leaves    map[int]int // when a deaf call is left behind; missing: it is not canceled
	left      map[int]bool
	told      [][]string
	mostAtOne int
}

func (m *model) tell(i int, what ...string) { m.told[i] = append(m.told[i], what...) }

func (m *model) start(isDeaf bool) {
	i := len(m.told)
	m.told = append(m.told, []string{})
	m.deaf[i] = isDeaf
	m.line = append(m.line, i)
	m.fill()
}

// fill gives free places to those who wait.
func (m *model) fill() {
	for len(m.line) > 0 && (m.places == 0 || len(m.works) < m.places) {
		m.works[m.line[0]] = true
		m.tell(m.line[0], "begin")
		m.line = m.line[1:]
	}
	m.mostAtOne = max(m.mostAtOne, len(m.works))
}

// isInside reports whether call i can be told to return.
func (m *model) isInside(i int) bool { return m.works[i] || m.left[i] }

func (m *model) end(i int) {
	if m.left[i] {
		delete(m.left, i)
		m.tell(i, "late")
		return
	}
	delete(m.works, i)
	m.tell(i, "done")
	m.fill()
}

func (m *model) cancel(calls []int) {
	m.line = slices.DeleteFunc(m.line, func(i int) bool {
		if slices.Contains(calls, i) {
			m.tell(i, "begin", "done")
			return true
		}
		return false
	})
	for _, i := range calls {
		_, canceled := m.leaves[i]
		switch {
		case !m.works[i] || canceled:
		case m.deaf[i]:
			m.leaves[i] = m.now + 2
		default:
			m.end(i)
		}
	}
}

// pass lets half a grace pass.
func (m *model) pass() {
	m.now++
	for i := range m.told {
		if at, canceled := m.leaves[i]; canceled && at == m.now && m.works[i] {
			delete(m.works, i)
			m.left[i] = true
			m.tell(i, "left")
		}
	}
	m.fill()
}

// do does a with both, and says what differs then.
func (m *model) do(s *stage, a act) (difference string) {
	var concerned []int
	var calls []*client
	for _, n := range a.Calls {
		if len(s.calls) > 0 {
			i := n % len(s.calls)
			concerned, calls = append(concerned, i), append(calls, s.calls[i])
		}
	}
	switch a.What {
	case "start", obedient, deaf:
		m.start(a.What == deaf)
		s.open(1, a.What)
	case "end":
		for n, i := range concerned {
			if m.isInside(i) {
				m.end(i)
				s.end(calls[n])
			}
		}
	case "cancel":
		m.cancel(concerned)
		s.cancel(calls...)
	case "pass":
		m.pass()
		pass(engine.DefaultGrace / 2)
	}
	for i, c := range s.calls {
		if got := c.heard(); !slices.Equal(got, m.told[i]) {
			difference += fmt.Sprintf("call %d was told %v, want %v\n", i, got, m.told[i])
		}
	}
	if got, want := s.busy(), len(m.works)+len(m.left); got != want {
		difference += fmt.Sprintf("%d calls are inside the agent, want %d\n", got, want)
	}
	if m.places > 0 && m.mostAtOne > m.places {
		difference += "the model itself is wrong\n"
	}
	return difference
}

// TestCrewIsAsTheModel does random things with a crew and with a dumb model of one. In
// the end every client was told exactly once that its call is over.
func TestCrewIsAsTheModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		places := rapid.IntRange(0, 4).Draw(rt, "places")
		program := rapid.SliceOfN(acts, 1, 40).Draw(rt, "program")
		var difference string
		synctest.Test(t, func(t *testing.T) {
			s := newStage(places)
			m := &model{places: places, works: map[int]bool{}, deaf: map[int]bool{}, leaves: map[int]int{}, left: map[int]bool{}}
			for n, a := range program {
				if difference = m.do(s, a); difference != "" {
					difference = fmt.Sprintf("after %v, act %d:\n%s", a, n, difference)
					break
				}
			}
			for _, c := range s.calls { // whatever differs, the bubble ends
				c.finish = nil
				select {
				case <-c.may:
				default:
					close(c.may)
				}
			}
			synctest.Wait()
			pass(time.Minute)
			for i, c := range s.calls {
				over := 0
				for _, what := range c.heard() {
					if what == "done" || what == "left" {
						over++
					}
				}
				if over != 1 && difference == "" {
					difference = fmt.Sprintf("call %d was told %v", i, c.heard())
				}
			}
			if difference == "" && !s.isOver(t) {
				difference = "a goroutine is left"
			}
		})
		if difference != "" {
			rt.Fatal(difference)
		}
	})
}

// TestNoMoreAtOnceThanPlaces starts and cancels calls from many goroutines at once.
func TestNoMoreAtOnceThanPlaces(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		places := rapid.IntRange(1, 3).Draw(rt, "places")
		cancels := rapid.SliceOfN(rapid.Bool(), 1, 30).Draw(rt, "cancels")
		most := 0
		synctest.Test(t, func(t *testing.T) {
			s := newStage(places)
			for range cancels {
				c := s.call(obedient, agent.Limits{})
				close(c.may)
				c.finish = func() error {
					s.mu.Lock()
					defer s.mu.Unlock()
					most = max(most, s.inside)
					return nil
				}
			}
			for i, c := range s.calls {
				go func() {
					if s.Start(&c.Call) {
						s.pool.Do(&c.Call)
					}
					if cancels[i] {
						s.Cancel(&c.Call)
					}
				}()
			}
			synctest.Wait()
			pass(time.Minute)
			for _, c := range s.calls {
				assert.Equal(t, []string{"begin", "done"}, c.heard())
			}
			assert.True(t, s.isOver(t))
		})
		if most > places {
			rt.Fatalf("%d calls were inside the agent at once, want at most %d", most, places)
		}
	})
}
