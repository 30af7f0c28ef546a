/** Each row has one text column `line`. */
export type CatalogQuery = (text: string) => Promise<readonly { line: string }[]>

/** initdb creates its objects in other schemas. */
const ours = `'public'::regnamespace`
function commentOf(catalog: string, oid: string, column = '0'): string {
  return `coalesce((SELECT ' COMMENT ' || description FROM pg_description
     WHERE classoid = '${catalog}'::regclass AND objoid = ${oid} AND objsubid = ${column}), '')`
}

/** One query per kind of object, with every property that a client can observe. */
const queries = [
  `SELECT format('relation %s kind=%s persistence=%s options=%s replica-identity=%s rls=%s/%s access=%s acl=%s%s', c.oid::regclass,
     relkind, relpersistence, reloptions, relreplident, relrowsecurity, relforcerowsecurity,
     (SELECT amname FROM pg_am a WHERE a.oid = c.relam), relacl, ${commentOf('pg_class', 'c.oid')}) AS line
   FROM pg_class c WHERE relnamespace = ${ours} AND relkind <> 'c'`,
  `SELECT format('column %s.%s #%s type=%s collation=%s not-null=%s default=%s identity=%s generated=%s storage=%s compression=%s statistics=%s options=%s%s',
     c.oid::regclass, attname, attnum, format_type(atttypid, atttypmod), nullif(attcollation, 0)::regcollation, attnotnull,
     pg_get_expr(adbin, adrelid), attidentity, attgenerated, attstorage, attcompression, nullif(attstattarget, -1), attoptions,
     ${commentOf('pg_class', 'c.oid', 'attnum')}) AS line
   FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON (adrelid, adnum) = (attrelid, attnum)
   WHERE relnamespace = ${ours} AND relkind IN ('r', 'v', 'm', 'p') AND attnum > 0`,
  `SELECT format('constraint %s on %s: %s deferrable=%s deferred=%s validated=%s%s', conname,
     CASE WHEN conrelid <> 0 THEN conrelid::regclass::text ELSE contypid::regtype::text END, pg_get_constraintdef(oid),
     condeferrable, condeferred, convalidated, ${commentOf('pg_constraint', 'oid')}) AS line
   FROM pg_constraint WHERE connamespace = ${ours} AND contype <> 'n'`,
  `SELECT format('index %s valid=%s ready=%s primary=%s clustered=%s replica-identity=%s', pg_get_indexdef(indexrelid), indisvalid,
     indisready, indisprimary, indisclustered, indisreplident) AS line
   FROM pg_index i JOIN pg_class c ON c.oid = indexrelid WHERE relnamespace = ${ours}`,
  `SELECT format('function %s%s acl=%s', pg_get_functiondef(oid), ${commentOf('pg_proc', 'oid')}, proacl) AS line
   FROM pg_proc WHERE pronamespace = ${ours} AND prokind <> 'a'`,
  `SELECT format('trigger %s enabled=%s%s', pg_get_triggerdef(t.oid), tgenabled, ${commentOf('pg_trigger', 't.oid')}) AS line
   FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = ${ours} AND NOT tgisinternal`,
  `SELECT format('view %s: %s', c.oid::regclass, pg_get_viewdef(c.oid)) AS line
   FROM pg_class c WHERE relnamespace = ${ours} AND relkind IN ('v', 'm')`,
  `SELECT format('sequence %s type=%s start=%s increment=%s min=%s max=%s cache=%s cycle=%s', seqrelid::regclass, seqtypid::regtype,
     seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle) AS line
   FROM pg_sequence s JOIN pg_class c ON c.oid = seqrelid WHERE relnamespace = ${ours}`,
  `SELECT format('type %s kind=%s base=%s not-null=%s default=%s collation=%s%s', t.oid::regtype, typtype,
     format_type(typbasetype, typtypmod), typnotnull, typdefault, nullif(typcollation, 0)::regcollation,
     ${commentOf('pg_type', 't.oid')}) AS line
   FROM pg_type t LEFT JOIN pg_class c ON c.oid = typrelid
   WHERE typnamespace = ${ours} AND typcategory <> 'A' AND (typrelid = 0 OR relkind = 'c')`,
  `SELECT format('rule %s', pg_get_ruledef(r.oid)) AS line
   FROM pg_rewrite r JOIN pg_class c ON c.oid = ev_class WHERE relnamespace = ${ours} AND rulename <> '_RETURN'`,
  `SELECT format('policy %s on %s', polname, polrelid::regclass) AS line FROM pg_policy`,
  `SELECT format('statistics %s', pg_get_statisticsobjdef(oid)) AS line FROM pg_statistic_ext`,
  `SELECT format('extension %s', extname) AS line FROM pg_extension`,
  `SELECT format('event trigger %s', evtname) AS line FROM pg_event_trigger`,
]

/** Comments and line breaks have no effect in a function body. */
function normalize(line: string): string {
  return line.replace(/--.*$/gm, '').replace(/\s+/g, ' ').trim()
}

/** Equal lists mean equal schemas. */
export async function readCatalog(query: CatalogQuery): Promise<string[]> {
  const lines: string[] = []
  for (const text of queries) for (const { line } of await query(text)) lines.push(normalize(line))
  return lines.sort()
}
