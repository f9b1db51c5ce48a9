package routing

import "iter"

// The roles that speak in a round of a discussion.
const (
	Researcher  = "researcher"
	Ideation    = "ideation"
	Critic      = "critic"
	Implementer = "implementer"
	TeamLeader  = "team_leader"
)

// RoundStep is whose turn it is in a round.
type RoundStep struct {
	Role string
	Turn int // 1; from 2 on in the exchanges of a deep dive
}

// RoundSteps yields the steps of a round in their order: researcher, ideation,
// critic, implementer, then as many exchanges in which ideation answers and the
// critic replies, and the leader's synthesis (D12, DC4). has says which roles take
// part; the leader always does. Critic, implementer and exchanges take place only
// if there are ideas, which is asked when it is their turn (D18, D19).
func RoundSteps(has func(role string) bool, ideas func() bool, exchanges int) iter.Seq[RoundStep] {
	return func(yield func(RoundStep) bool) {
		for _, role := range []string{Researcher, Ideation, Critic, Implementer} {
			wanted := has(role) && (role == Researcher || role == Ideation || ideas())
			if wanted && !yield(RoundStep{role, 1}) {
				return
			}
		}
		for n := range exchanges {
			if !has(Ideation) || !has(Critic) || !ideas() {
				break
			}
			for _, role := range []string{Ideation, Critic} {
				if !yield(RoundStep{role, n + 2}) {
					return
				}
			}
		}
		yield(RoundStep{TeamLeader, 1})
	}
}
