module github.com/convene-go/convene/bench

go 1.26.0

replace github.com/convene-go/convene => ..

replace github.com/convene-go/convene/blackboard/postgres => ../blackboard/postgres

replace github.com/convene-go/convene/blackboard/sqlite => ../blackboard/sqlite

require github.com/convene-go/convene v0.0.0

require (
	github.com/dustin/go-humanize v1.0.1 // indirect
	github.com/gofrs/flock v0.13.1 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/ncruces/go-strftime v1.0.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	golang.org/x/sys v0.47.0 // indirect
	modernc.org/libc v1.75.6 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
)

require (
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/convene-go/convene/blackboard/postgres v0.0.0
	github.com/convene-go/convene/blackboard/sqlite v0.0.0
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/jackc/pgx/v5 v5.12.0
	golang.org/x/sync v0.24.0
	golang.org/x/text v0.41.0
	modernc.org/sqlite v1.58.0
	pgregory.net/rapid v1.3.0
)
