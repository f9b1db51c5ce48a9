package director

import (
	"slices"

	"github.com/convene-go/convene/orchestrator/team"
	"github.com/convene-go/convene/providers"
)

// The phases that mean something to the team; any others are as good. "implement" is
// read as build.
const (
	phasePlan     = "plan"
	phaseBuild    = "build" // its components get TEST tasks, whose criteria follow from what was built
	phaseTest     = "test"
	phaseDocument = "document"
)

// Profile is a kind of worker that tasks can be assigned to.
type Profile struct {
	ID     string   `json:"id"`               // name, as tasks have it
	Agent  string   `json:"agent,omitzero"`   // name in the roster; "": the ID
	Phases []string `json:"phases,omitempty"` // phases of its tasks; nil: any
	Does   string   `json:"does,omitzero"`    // its duties, told to the director and to the worker
	Tools  []string `json:"tools,omitempty"`  // tool libraries by domain, told to both

	Limit    int               `json:"limit,omitzero" min:"0"`    // workers of this kind at once; 0: only Bounds.Parallel counts
	Check    []string          `json:"check,omitempty"`           // command that Agents.Check runs on what was delivered, and on the result of the merge; nil: none
	Estimate providers.NanoUSD `json:"estimate,omitzero" min:"0"` // cost of a slice of its work, reserved before it; 0: not known
}

// Software returns a Config for projects of software, without Agents: phases plan,
// build, test and document, and a profile for each, beside a researcher for any. The
// host's roster has an agent of each profile's name.
func Software() Config {
	return Config{
		Profiles: []Profile{
			{ID: "planner_worker", Phases: []string{phasePlan}, Does: "Write design documents, and decide on the architecture. List each decision under decisions."},
			{ID: "code_worker", Phases: []string{phaseBuild}, Does: "Write the code, with unit tests of your own code."},
			{ID: "test_worker", Phases: []string{phaseTest}, Does: "Write acceptance and integration tests of the acceptance criteria, whatever the code intends."},
			{ID: "research_worker", Does: "Investigate, and recommend what to do."},
			{ID: "writer_worker", Phases: []string{phaseDocument}, Does: "Write documentation: README, descriptions of interfaces, guides."},
		},
		Policy: Policy{Phases: []string{phasePlan, phaseBuild, phaseTest, phaseDocument}},
	}
}

// Report returns a Config for research that ends in a report, without Agents: phases
// plan, execute and qa of the components research, synthesis, outline, draft, edit and
// citations. The host's roster has an agent of each profile's name.
func Report() Config {
	return Config{
		Profiles: []Profile{
			{ID: "research_worker", Phases: []string{phasePlan, "execute"}, Does: "Define the research questions, gather sources, and synthesize what they say. Keep notes of where each statement comes from."},
			{ID: "writer_worker", Phases: []string{phasePlan, "execute"}, Does: "Outline and draft the report for its audience, from the notes alone."},
			{ID: "editor_worker", Phases: []string{"execute", "qa"}, Does: "Edit the text, complete the citations, and check coverage, facts and coherence."},
		},
		Policy: Policy{
			Phases:     []string{phasePlan, "execute", "qa"},
			Components: []string{"research", "synthesis", "outline", "draft", "edit", "citations"},
		},
	}
}

// phaseOrder is the order of phases, or the one that follows from the profiles.
func phaseOrder(given []string, profiles []Profile) []string {
	if given != nil {
		return given
	}
	order := []string{phasePlan, phaseBuild, phaseTest}
	for _, p := range profiles {
		order = union(order, p.Phases)
	}
	return order
}

// checkProfiles adds what is wrong with profiles and phases to f.
func (c Config) checkProfiles(f *team.Faults) {
	f.If(len(c.Profiles) == 0, "Profiles is empty, want at least one kind of worker")
	for i, p := range c.Profiles {
		earlier := slices.ContainsFunc(c.Profiles[:i], func(o Profile) bool { return o.ID == p.ID })
		f.If(p.ID == "" || earlier, "Profiles[%d]: ID is %q, want one that no earlier profile has", i, p.ID)
		for _, phase := range p.Phases {
			known := slices.Contains(c.Policy.Phases, phase)
			f.If(!known, "Profiles[%d] (%q): Phases has %q, want some of Policy.Phases, %q", i, p.ID, phase, c.Policy.Phases)
		}
		f.If(len(p.Check) > 0 && c.Agents.Check == "", "Profiles[%d] (%q): Check is %q, but Agents.Check is empty: nothing runs it", i, p.ID, p.Check)
	}
	names := func(field string, values []string) {
		for i, value := range values {
			f.If(value == "" || slices.Contains(values[:i], value), "%s[%d] is %q, want a name that is not there before", field, i, value)
		}
	}
	names("Policy.Phases", c.Policy.Phases)
	names("Policy.Components", c.Policy.Components)
}

// profile returns the profile of that ID.
func (c Config) profile(id string) (Profile, bool) {
	i := slices.IndexFunc(c.Profiles, func(p Profile) bool { return p.ID == id })
	if i < 0 {
		return Profile{}, false
	}
	return c.Profiles[i], true
}

// takes says whether tasks of a phase can be assigned to p.
func (p Profile) takes(phase string) bool {
	return p.Phases == nil || slices.Contains(p.Phases, phase)
}
