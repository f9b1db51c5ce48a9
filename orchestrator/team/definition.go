package team

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"text/template"

	"github.com/convene-go/convene/orchestrator"
	"github.com/convene-go/convene/orchestrator/agent"
	"github.com/convene-go/convene/orchestrator/team/prompt"
)

// Definition is a team: what [New] makes a flow of. Its types are structs:
//
//   - C, the Config, may have Name, Limits, Rules with a Permit, and Prompts (an fs.FS of
//     templates that replace those of the team). It has a struct or a list Agents with the
//     names of all agents, if the Definition has no function Agents.
//   - I, the Input, may have Limits.
//   - O, the Outcome, embeds orchestrator.Outcome.
type Definition[C, I, O any] struct {
	Name    string           // name of the team in codes and kinds, and of its flow if the Config has none
	Version int              // version of the flow, as Flow.Version
	Prompts fs.FS            // templates of the prompts, in its root or in a folder prompts; nil: there are none
	Samples map[string][]any // a value or more for each template, by its file name: New fills it with each
	Quote   int              // limit in bytes of a text that a prompt quotes; 0: none
	Funcs   template.FuncMap // functions of the templates, as in prompt.Source; nil: none
	Rules   any              // defaults of Config.Rules, of the same type; nil: they have none

	// Defaults sets what is zero in a Config, in the place of the function Defaults, which it
	// calls itself. Rules get their defaults afterwards. Nil: tags have all defaults.
	Defaults func(cfg *C)

	// Check adds faults that tags do not find. cfg has its defaults. Nil: there are none.
	Check func(cfg C, f *Faults)

	// Agents returns the agents that the team calls, in any order; "" is none. Those that
	// rules declare are added to them. Nil: the texts in Config.Agents.
	Agents func(cfg C) []string

	// Begin sets fields of the Start of a run, such as Asked. State is the Outcome unless Begin
	// sets it. Nil sets nothing.
	Begin func(cfg C, in I, s *Start)

	// Do is the work. It fills out, and returns why it ended early, or nil. The Run has begun,
	// c is under its budget, and New ends it.
	Do func(c *orchestrator.Context, r *Run, cfg C, in I, out *O) error

	// Run is the whole run, in the place of Begin and Do, of a team with ends of its own: it
	// checks the Input, and calls Begin and Run.End. s has all but Asked, Outcome, State, Path
	// and Waits.
	Run func(c *orchestrator.Context, s Start, cfg C, in I) (O, error)
}

// New returns the flow of a team with a Config: checked by its tags, with its defaults. One
// error has all faults. The flow begins a [Run], checks the Input by its tags, does the work,
// and ends the Run with the status that follows from its error.
func New[C, I, O any](d Definition[C, I, O], cfg C) (orchestrator.Flow[I, O], error) {
	f := Faults{[]error{Check(cfg), d.check()}}
	cfg = d.whole(cfg)
	if d.Check != nil {
		d.Check(cfg, &f)
	}
	var rules any
	if group := reflect.ValueOf(cfg).FieldByName("Rules"); group.Kind() == reflect.Struct {
		rules = group.Interface()
		f.Rules("Rules", rules)
	}
	texts, err := prompt.Set{}, error(nil)
	if d.Prompts != nil {
		host, _ := fieldOf[fs.FS](cfg, "Prompts")
		texts, err = prompt.New(prompt.Source{Own: d.Prompts, Host: host, Samples: d.Samples, Quote: d.Quote, Funcs: d.Funcs})
	}
	if err := errors.Join(f.Err(), err); err != nil {
		return orchestrator.Flow[I, O]{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	s := Start{Team: d.Name, Prompts: texts, Agents: d.agents(cfg, rules)}
	s.Limits, _ = fieldOf[Limits](cfg, "Limits")
	s.Permit, _ = fieldOf[orchestrator.Permit](rules, "Permit")
	name, _ := fieldOf[string](cfg, "Name")
	return orchestrator.Flow[I, O]{
		Name: cmp.Or(name, d.Name), Version: d.Version, Agents: s.Agents, Roles: Roles(cfg, s.Agents),
		Do: func(c *orchestrator.Context, in I) (O, error) { return d.run(c, s, cfg, in) },
	}, nil
}

// whole returns a copy of a Config with its defaults.
func (d Definition[C, I, O]) whole(cfg C) C {
	cfg = Clone(cfg)
	if d.Defaults != nil {
		d.Defaults(&cfg)
	} else {
		Defaults(&cfg)
	}
	if d.hasRules() {
		fillRules(reflect.ValueOf(&cfg).Elem().FieldByName("Rules"), reflect.ValueOf(d.Rules))
	}
	return cfg
}

// agents returns the names of all agents, each once.
func (d Definition[C, I, O]) agents(cfg C, rules any) (names []string) {
	if d.Agents != nil {
		names = d.Agents(cfg)
	} else if agents := reflect.ValueOf(cfg).FieldByName("Agents"); agents.IsValid() {
		find(agents, func(agent, _ string) { names = append(names, agent) })
	}
	if rules != nil {
		names = append(names, ruleAgents(rules)...)
	}
	slices.Sort(names)
	return slices.DeleteFunc(slices.Compact(names), func(name string) bool { return name == "" })
}

// run is one run of the team.
func (d Definition[C, I, O]) run(c *orchestrator.Context, s Start, cfg C, in I) (O, error) {
	own, _ := fieldOf[Limits](in, "Limits")
	s.Limits = own.Or(s.Limits)
	if d.Run != nil {
		return d.Run(c, s, cfg, in)
	}
	out := new(O)
	s.Outcome, s.State = outcomeOf(out), func() any { return *out }
	if d.Begin != nil {
		d.Begin(cfg, in, &s)
	}
	r, c := Begin(c, s)
	err := Check(in)
	if err != nil {
		err = agent.ErrorOf(fmt.Errorf("%w: the input: %w", orchestrator.ErrMalformed, err))
	} else {
		err = d.Do(c, r, cfg, in, out)
	}
	r.End(c, err, nil)
	if err != nil {
		err = fmt.Errorf("%s: %w", d.Name, err)
	}
	return *out, err
}

// check returns what is wrong with d itself.
func (d Definition[C, I, O]) check() error {
	var f Faults
	f.If(d.Name == "", "Definition.Name is empty")
	f.If((d.Do == nil) == (d.Run == nil), "Definition.Do and Definition.Run: want one of them")
	f.If(outcomeOf(new(O)) == nil, "%T does not embed orchestrator.Outcome", *new(O))
	f.If(d.Rules != nil && !d.hasRules(), "Definition.Rules is a %T, and no field Rules of %T is", d.Rules, *new(C))
	return f.Err()
}

// hasRules reports whether the Config has the rules of which d has defaults.
func (d Definition[C, I, O]) hasRules() bool {
	field, ok := reflect.TypeFor[C]().FieldByName("Rules")
	return ok && d.Rules != nil && field.Type == reflect.TypeOf(d.Rules)
}

// fieldOf returns the field of a struct with that name and type.
func fieldOf[T any](v any, name string) (value T, ok bool) {
	s := reflect.ValueOf(v) // the zero Value if v is nil
	if s.Kind() != reflect.Struct {
		return value, false
	}
	f := s.FieldByName(name)
	if !f.IsValid() || f.Type() != reflect.TypeFor[T]() || f.Kind() == reflect.Interface && f.IsNil() {
		return value, false
	}
	return reflect.TypeAssert[T](f)
}

// outcomeOf returns the Outcome that *out embeds, or nil.
func outcomeOf(out any) *orchestrator.Outcome {
	v := reflect.ValueOf(out).Elem()
	if v.Kind() != reflect.Struct {
		return nil
	}
	if f := v.FieldByName("Outcome"); f.IsValid() && f.Type() == reflect.TypeFor[orchestrator.Outcome]() {
		return f.Addr().Interface().(*orchestrator.Outcome) //nolint:errcheck // it is of that type
	}
	return nil
}

// Read is [New] with a Config in JSON, as [Decode] reads it.
func Read[C, I, O any](d Definition[C, I, O], config []byte) (orchestrator.Flow[I, O], error) {
	var cfg C
	read := func() error { return Decode(config, &cfg) }
	if own, ok := any(&cfg).(json.Unmarshaler); ok { // such as a Config with rules
		read = func() error { return own.UnmarshalJSON(config) }
	}
	if err := read(); err != nil {
		return orchestrator.Flow[I, O]{}, fmt.Errorf("%s: %w", d.Name, err)
	}
	return New(d, cfg)
}

// Ask asks an agent for an A with the prompt that a template makes of data: it is a [Seat]
// without anything else.
func Ask[A any](c *orchestrator.Context, r *Run, agent, template string, data any) (A, error) {
	return Seat[A]{Agent: agent, Prompt: template}.Ask(c, r, data)
}
