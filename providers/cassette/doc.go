// Package cassette records what models answer, once, and plays it back without
// them: offline, in no time and free of charge.
//
//	rec, err := cassette.Record("testdata/team.jsonl", cassette.Options{})
//	roles, err := providers.NewRoles(config, rec.Open(openai.Open(keys)))
//	... run the team ...
//	err = rec.Close()
//
//	player, err := cassette.Play("testdata/team.jsonl", cassette.Options{})
//	roles, err := providers.NewRoles(config, player.Open)
//
// [Open] does one or the other by its [Mode], such as [RecordIfMissing].
//
// A call is found again by the model's name and by what was asked, not by when: so
// agents may work at the same time. Calls that were made several times are played
// in the order of their recording, and the last of them again and again. A call
// that was not recorded is [ErrMiss], which tells what is nearest; no model is
// asked instead.
//
// Keys are taken out of all that is written, see [Options]. A cassette is JSON
// Lines, one call a line in the order in which they were answered, readable and
// writable for its owner alone:
//
//	{"v":2,"key":"...","model":"openai:gpt-x","req":{"messages":[...]},"resp":{"text":"...","stop":"end","usage":{...},"model":"..."}}
//	{"v":2,"key":"...","model":"openai:gpt-x","req":{"messages":[...]},"err":{"kind":"rate-limited","status":429,"retryAfter":"7s"}}
//
// Of the tools in a request the name and a hash of the schema are kept, so their
// descriptions may change. With agent.TapeTools the tools themselves are on the
// cassette too, and answer from it: then no server of theirs is needed.
package cassette
