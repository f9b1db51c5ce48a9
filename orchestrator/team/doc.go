// Package team is what teams have in common, so that a team is its rules and its order of
// work, and little else. The teams of this module stand on it; a program's own can, too.
//
// A team is a [Definition], of which [New] and [Read] make the flow: they check the Config,
// set its defaults and rules, read its prompts, and find its agents. [Ask] and [Refine] are
// what a simple team is made of:
//
//	var forge = team.Definition[Config, Order, Ware]{
//		Name: "forge", Prompts: files, Samples: samples,
//		Do: func(c *orchestrator.Context, r *team.Run, cfg Config, in Order, out *Ware) (err error) {
//			out.Text, err = team.Ask[string](c, r, cfg.Agents.Smith, "work.tmpl", in)
//			return err
//		},
//	}
//	flow, err := team.Read(forge, config) // JSON
//
// # Config
//
// A Config is a struct with tags. [Check] finds all its faults, and [Defaults] sets what is
// zero; [Decode] and [Encode] are its JSON, in which money is in USD and a duration is a text:
//
//	type Config struct {
//		Rounds int         `json:"rounds,omitzero" default:"3" min:"1" max:"9"`
//		Limits team.Limits `json:"limits,omitzero"` // money and time of all runs; those of one run are in the Input
//		Rules  Rules       `json:"rules,omitzero"`  // interfaces that the host may replace
//	}
//
//	func (r *Rules) UnmarshalJSON(data []byte) error { return team.DecodeRules(data, r, DefaultRules()) }
//	func (r Rules) MarshalJSON() ([]byte, error)     { return team.EncodeRules(r, DefaultRules()) }
//
// # Run
//
// A team with ends of its own has Definition.Run in the place of Do. [Begin] starts a [Run], and
// [Run.End] ends it. Between them it keeps warnings, asks rules and permits, and emits the
// team's records:
//
//	s.Outcome, s.Asked = &out.Outcome, in.Topic // Outcome embeds orchestrator.Outcome
//	r, c := team.Begin(c, s)
//	m := team.NewMachine(r, "", phases, &out.Phase)
//	if err := m.Go(c, write); err != nil { … } // asks the Permit, then moves
//	text, err := poet.Ask(c, r, in.Topic)      // a Seat: prompt, call, repair, retry, events
//	ok, err := team.Rule(r, c, "poet", "Rules.Gate", func() (bool, error) { … })
//	r.Emit(c, EventPoemWritten, &Event{Lines: n}) // Event embeds team.Event
//	r.End(c, err, nil)
//
// # Errors
//
// An error for which [Ends] holds ends the run: the team passes it on. All others are
// failures of one part. A rule of the host that fails has the code "<team>/rule", a move that
// was refused "<team>/not-permitted": [Run.IsHostError] tells them.
//
// The package page makes the HTML page of a run, and the package prompt its prompts.
package team
