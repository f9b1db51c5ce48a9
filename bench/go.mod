module github.com/convene-go/convene/bench

go 1.26.0

replace github.com/convene-go/convene => ..

replace github.com/convene-go/convene/blackboard/sqlite => ../blackboard/sqlite

require github.com/convene-go/convene v0.0.0

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	golang.org/x/sync v0.24.0
)
