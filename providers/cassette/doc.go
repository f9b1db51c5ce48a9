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
// A call is found by the model's name and the request, not by its time: so agents may
// run in parallel. Equal calls are played in the order of their recording, and the last
// of them repeatedly. A call that was not recorded is [ErrMiss], which shows the nearest
// ones; no model is called instead.
//
// Keys are removed from everything that is written, see [Options]. A cassette is JSON
// Lines, one call per line in the order of the answers, readable and writable only for
// its owner:
//
//	{"v":2,"key":"...","model":"openai:gpt-x","req":{"messages":[...]},"resp":{"text":"...","stop":"end","usage":{...},"model":"..."}}
//	{"v":2,"key":"...","model":"openai:gpt-x","req":{"messages":[...]},"err":{"kind":"rate-limited","status":429,"retryAfter":"7s"}}
//
// Of the tools in a request the name and a hash of the schema are stored, so their
// descriptions may change. With agent.TapeTools the tools are on the cassette, too, and
// answer from it: then no server is needed for them.
package cassette
