// streamfile.mjs FILE SECONDS: keeps the stream records in dynoxide's database file usable:
// with an index, and none written before that Unix time. The engine does neither.
//
// It knows the table of the records in that file and nothing else of the engine; it must be
// adapted with a new version of it. No engine may run on the file meanwhile.
import Database from 'libsql'

const [file, before] = process.argv.slice(2)
const db = new Database(file, { fileMustExist: true, timeout: 5000 })

// The engine numbers a record by the largest number before it, and without an index reads
// all records to find that: with 5,000 records a write takes ten times as long as with none,
// with 100,000 a hundred times. It uses this index for its queries by number.
db.exec(`CREATE INDEX IF NOT EXISTS flashsale_stream_records
	ON _stream_records (table_name, CAST(sequence_number AS INTEGER))`)

// The last record of a table must stay, because the engine would count from 1 again after it:
// a reader that continues after a larger number would miss everything up to there.
db.prepare(`DELETE FROM _stream_records WHERE created_at < ? AND id NOT IN (
	SELECT id FROM (SELECT id, max(CAST(sequence_number AS INTEGER)) FROM _stream_records GROUP BY table_name))`)
	.run(Number(before))
db.close()
