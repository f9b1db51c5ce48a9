module github.com/convene-go/convene/orchestrator/research/workers

go 1.26.0

replace github.com/convene-go/convene => ../../..

require (
	codeberg.org/readeck/go-readability/v2 v2.1.2
	github.com/convene-go/convene v0.0.0-00010101000000-000000000000
	github.com/jimsmart/grobotstxt v1.0.3
	github.com/klippa-app/go-pdfium v1.21.4
	github.com/mmcdole/gofeed v1.4.2
	github.com/stretchr/testify v1.12.1
	github.com/tetratelabs/wazero v1.12.0
	golang.org/x/net v0.62.0
)

require (
	github.com/andybalholm/cascadia v1.3.3 // indirect
	github.com/cenkalti/backoff/v4 v4.3.0 // indirect
	github.com/go-shiori/dom v0.0.0-20230515143342-73569d674e1c // indirect
	github.com/gogs/chardet v0.0.0-20211120154057-b7413eaefb8f // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/itlightning/dateparse v0.2.1 // indirect
	github.com/jolestar/go-commons-pool/v2 v2.1.2 // indirect
	github.com/looplab/fsm v1.0.3 // indirect
	github.com/mmcdole/goxpp/v2 v2.0.0 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)
