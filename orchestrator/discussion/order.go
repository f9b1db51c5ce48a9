package discussion

import "slices"

// Turns is a rule of a team: it says who speaks next in a round.
//
// Next gets the round so far, and returns a role or the ID of a member who may speak in
// rounds, or "": then the round is over. If several members have the role, the one speaks who
// had the fewest turns in the round; of equals the first of the team. A round has at most 100
// turns. Next is a pure function: it is called before each turn, and again when a run is
// resumed, with equal arguments.
type Turns interface{ Next(r Round) Role }

// TurnsFunc is a function as [Turns].
type TurnsFunc func(r Round) Role

// Next returns f(r).
func (f TurnsFunc) Next(r Round) Role { return f(r) }

// Round is a round that is under way.
type Round struct {
	Number     int        // number of the round, from 1
	DeepDive   int        // Rounds.DeepDive
	Members    []Member   // members of the team, with ID and Duty: the package's roles first, then the others as listed
	Spoken     []Member   // members that had their turn in this round, in order; failed turns count
	Discussion Discussion // all that was said so far; a copy
}

// InOrder is the [Turns] of a fixed order. If several members have a role, they speak one
// after another.
type InOrder struct {
	// Order are the roles, or IDs of members, that speak in each round, in this order. One that
	// is there twice speaks twice. Nil: researcher; those who propose; critic; implementer; the
	// roles of the host, in the order of the team; in deep dives those who propose and the
	// critics again; then the leader, who sums up. Critic, implementer and deep dives have a
	// turn only if there are ideas by then.
	Order []Role `json:"order,omitempty"`
}

// Next returns the first member in the order that did not have its turn.
func (o InOrder) Next(r Round) Role {
	spoken := 0
	for _, p := range o.places(r) {
		if spoken < len(r.Spoken) {
			if r.Spoken[spoken].ID == p.id {
				spoken++
			}
			continue
		}
		if !p.onIdeas || len(r.Discussion.Ideas) > 0 {
			return Role(p.id)
		}
	}
	return ""
}

// place is a turn in an order.
type place struct {
	id      string
	onIdeas bool // true: it is skipped without ideas
}

// places returns the turns of a round.
func (o InOrder) places(r Round) (all []place) {
	if o.Order != nil {
		for _, name := range o.Order {
			for _, m := range (Config{Team: r.Members}).named(name) {
				all = append(all, place{id: m.ID})
			}
		}
		return all
	}
	add := func(onIdeas bool, is func(m Member) bool) {
		for _, m := range r.Members {
			if is(m) {
				all = append(all, place{m.ID, onIdeas})
			}
		}
	}
	proposes := func(m Member) bool { return m.duty() == Propose }
	speaksAs := func(role Role) func(m Member) bool {
		return func(m Member) bool { return m.duty() == Speak && m.Role == role }
	}
	add(false, speaksAs(Researcher))
	add(false, proposes)
	add(true, speaksAs(Critic))
	add(true, speaksAs(Implementer))
	add(false, func(m Member) bool {
		return m.duty() == Speak && !slices.Contains([]Role{Researcher, Critic, Implementer}, m.Role)
	})
	if slices.ContainsFunc(r.Members, proposes) && slices.ContainsFunc(r.Members, speaksAs(Critic)) {
		for range r.DeepDive {
			add(true, proposes)
			add(true, speaksAs(Critic))
		}
	}
	add(false, func(m Member) bool { return m.duty() == Lead })
	return all
}
