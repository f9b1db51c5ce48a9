// Package blackboard keeps what a run did: its log of records, and the stores
// that logs are kept in.
//
// A host plugs in its own storage by implementing [Store], four methods; package
// storetest checks them. The optional interfaces [Owners], [Notifier], [Inbox],
// [Blobs] and [Deleter] say what more a store can do. [Memory] has them all.
//
// [Export] and [Import] carry a run from one store to another as JSON lines.
package blackboard
