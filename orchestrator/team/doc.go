// Package team is what teams have in common, so that a team is its rules and its order of
// work, and little else. The teams of this module stand on it; a program's own can, too.
//
// The shortest way is a [Definition], of which [New] and [Read] make the flow: they check the
// Config, begin the run and end it. [Ask] and [Refine] are what such a team is made of:
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
// What follows is for teams that need more.
//
// # Config
//
// A Config is a struct with tags. [Check] finds all its faults, and [Defaults] sets what is
// zero; [Decode] and [Encode] are its JSON, in which money is in USD and a duration is a text:
//
//	type Config struct {
//		Poet   string      `json:"poet,omitzero" default:"poet"`
//		Rounds int         `json:"rounds,omitzero" default:"3" min:"1" max:"9"`
//		Limits team.Limits `json:"limits,omitzero"`
//		Rules  Rules       `json:"rules,omitzero"`
//	}
//
//	func New(cfg Config) (orchestrator.Flow[Input, Outcome], error) {
//		texts, err := team.Prompts(files, nil, samples, 0, nil)
//		if err := errors.Join(team.Check(cfg), err); err != nil { … }
//		cfg = team.Clone(cfg)
//		team.Defaults(&cfg)
//		cfg.Rules = team.FillRules(cfg.Rules, DefaultRules())
//		…
//	}
//
// [Limits] are the one place of money and time: in a Config for all runs, in an Input for
// one run. Rules are interfaces that the host may replace: see [FillRules], [DecodeRules],
// [EncodeRules].
//
// # Run
//
// [Begin] starts a [Run], and [Run.End] ends it. Between them it keeps warnings, asks rules
// and permits, and emits the team's records:
//
//	out := &Outcome{} // embeds orchestrator.Outcome
//	r, c := team.Begin(c, team.Start{
//		Team: "poetry", Asked: in.Topic, Outcome: &out.Outcome, Prompts: texts,
//		Limits: in.Limits.Or(cfg.Limits), Permit: cfg.Rules.Permit, State: func() any { return out.State },
//	})
//	m := team.NewMachine(r, "", phases, &out.Phase)
//	if err := m.Go(c, write); err != nil { … }  // asks the Permit, then moves
//	text, err := poet.Ask(c, r, in.Topic)        // a Seat: prompt, call, repair, retry, events
//	ok, err := team.Rule(r, c, "poet", "Rules.Gate", func() (bool, error) { … })
//	r.Warn(c, r.Code("short"), "poet", "%d lines", n)
//	r.Emit(c, EventPoemWritten, &Event{Lines: n}) // Event embeds team.Event
//	m.Fire(c, finish)
//	r.End(c, err, nil)
//
// The Outcome and the State write themselves in the same dialect:
//
//	func (o Outcome) MarshalJSON() ([]byte, error)     { return team.Encode(o) }
//	func (o *Outcome) UnmarshalJSON(data []byte) error { return team.DecodeLenient(data, o) }
//
// # Errors
//
// An error for which [Ends] holds ends the run: the team passes it on. All others are
// failures of one part. A rule of the host that fails has the code "<team>/rule", a move that
// was refused "<team>/not-permitted".
//
// The package page makes the HTML page of a run, and the package prompt its prompts.
package team
