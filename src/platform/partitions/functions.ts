/**
 * A table in native partitions by time, or by the position of events. See docs/scale.md.
 *
 * The last partition has no upper bound, so an insert never fails because a partition is missing. A new partition is cut
 * from its end while it is empty. The parent has no indexes: each partition has its own ones, which its successor copies.
 */
export const partitionedTables = ['ledger_entries', 'login_history', 'events', 'audit_log'] as const
export type PartitionedTable = (typeof partitionedTables)[number]

/** Months that exist after the current one. */
const monthsAhead = 2

/** In positions. A partition of events lasts about a week, if that is more. */
const minimumPositions = 100_000

/** Waits this long for a lock that makes requests wait. The caller tries again. */
const lockTimeout = `SET lock_timeout = '200ms'`

/** A serving role that does not own the tables can add partitions, but not remove any. */
const asOwner = `LANGUAGE plpgsql SECURITY DEFINER SET timezone = 'UTC' SET datestyle = 'ISO'`

/** See `partitionBy` in schema.ts. */
export const functions = [
  // Takes the locks in the order in which transactions take them. Does nothing in a new store.
  `DO $$ DECLARE v_table text; BEGIN
    FOREACH v_table IN ARRAY '{${partitionedTables.join()}}'::text[] LOOP
      IF to_regclass(v_table) IS NOT NULL THEN
        EXECUTE format('LOCK TABLE %I IN ACCESS EXCLUSIVE MODE', v_table);
      END IF;
    END LOOP;
  END $$`,
  `CREATE FUNCTION partition_list(parent regclass)
  RETURNS TABLE (partition regclass, schema_name text, name text, lower text, upper text, is_detaching boolean)
  LANGUAGE sql STABLE SET timezone = 'UTC' SET datestyle = 'ISO' AS $$
    SELECT c.oid::regclass, n.nspname::text, c.relname::text, nullif(b.bounds[1], 'MINVALUE'),
           nullif(b.bounds[2], 'MAXVALUE'), i.inhdetachpending
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
     CROSS JOIN LATERAL (SELECT regexp_match(pg_get_expr(c.relpartbound, c.oid),
       'FROM \\(''?([^'')]+)''?\\) TO \\(''?([^'')]+)''?\\)') AS bounds) AS b
     WHERE i.inhparent = parent
  $$`,
  `CREATE FUNCTION partition_tail(parent regclass, OUT partition regclass, OUT schema_name text, OUT name text,
    OUT lower text, OUT key text, OUT is_time boolean, OUT is_empty boolean) ${asOwner} AS $$
  BEGIN
    SELECT a.attname, a.atttypid = 'timestamptz'::regtype INTO STRICT key, is_time
      FROM pg_partitioned_table p JOIN pg_class c ON c.oid = p.partrelid
      JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum = p.partattrs[0]
     WHERE p.partrelid = parent AND c.relname IN (${partitionedTables.map((name) => `'${name}'`).join(', ')});
    SELECT l.partition, l.schema_name, l.name, l.lower INTO STRICT partition, schema_name, name, lower
      FROM partition_list(parent) AS l WHERE l.upper IS NULL;
    EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I.%I)', schema_name, name) INTO is_empty;
  END $$`,
  // Returns where the last partition ends next, and whether a check must come first because it has rows.
  `CREATE FUNCTION partition_next(parent regclass, at timestamptz, OUT bound text, OUT is_checked boolean)
  ${asOwner} AS $$
  DECLARE
    v_tail record := partition_tail(parent);
    v_month timestamptz := date_trunc('month', at);
    v_time timestamptz;
    v_head bigint;
    v_size numeric := ${minimumPositions};
    v_oldest record;
  BEGIN
    is_checked := NOT v_tail.is_empty;
    IF v_tail.is_time THEN
      IF v_tail.lower::timestamptz > v_month + interval '${monthsAhead} months' THEN
        RETURN;
      END IF;
      v_time := greatest(v_tail.lower::timestamptz, v_month) + interval '1 month';
      IF is_checked THEN
        v_time := v_time + interval '1 month';
        EXECUTE format('SELECT coalesce(date_trunc(''month'', max(%1$I)) + interval ''2 months'', $1) FROM %2$I.%3$I
          WHERE %1$I >= $1', v_tail.key, v_tail.schema_name, v_tail.name) INTO v_time USING v_time;
      END IF;
      bound := v_time;
      RETURN;
    END IF;
    SELECT position INTO v_head FROM event_head;
    SELECT e.position, e.at INTO v_oldest FROM events e ORDER BY e.position LIMIT 1;
    IF v_oldest.at < partition_next.at THEN
      v_size := greatest(v_size, round((v_head - v_oldest.position) * 604800
        / (extract(epoch FROM partition_next.at - v_oldest.at) + 3600), -5));
    END IF;
    IF is_checked OR v_tail.lower IS NULL OR v_tail.lower::numeric < v_head + v_size THEN
      bound := (greatest(v_tail.lower::numeric, v_head) + v_size)::bigint;
    END IF;
  END $$`,
  // A validated check spares the scan of the partition under the lock of partition_split.
  `CREATE FUNCTION partition_check(parent regclass, bound text) RETURNS void ${asOwner} ${lockTimeout} AS $$
  DECLARE
    v_tail record := partition_tail(parent);
  BEGIN
    EXECUTE format('ALTER TABLE %1$I.%2$I DROP CONSTRAINT IF EXISTS partition_bound,
      ADD CONSTRAINT partition_bound CHECK (%3$I < %4$L%5$s) NOT VALID', v_tail.schema_name, v_tail.name, v_tail.key,
      bound, CASE WHEN v_tail.lower IS NOT NULL THEN format(' AND %I >= %L', v_tail.key, v_tail.lower) END);
  END $$`,
  `CREATE FUNCTION partition_validate(parent regclass) RETURNS void ${asOwner} AS $$
  DECLARE
    v_tail record := partition_tail(parent);
  BEGIN
    EXECUTE format('ALTER TABLE %I.%I VALIDATE CONSTRAINT partition_bound', v_tail.schema_name, v_tail.name);
  END $$`,
  `CREATE FUNCTION partition_split(parent regclass, bound text) RETURNS void ${asOwner} ${lockTimeout} AS $$
  DECLARE
    v_tail record;
    v_old text;
    v_new text;
    v_statement text;
  BEGIN
    EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', parent);
    v_tail := partition_tail(parent);
    v_old := format('%I.%I', v_tail.schema_name, v_tail.name);
    IF NOT v_tail.is_empty AND NOT EXISTS (SELECT FROM pg_constraint
        WHERE conrelid = v_tail.partition AND conname = 'partition_bound' AND convalidated) THEN
      RAISE EXCEPTION 'partition % has rows: check its bound first', v_old USING ERRCODE = 'lock_not_available';
    END IF;
    v_new := format('%I.%I', v_tail.schema_name, (SELECT relname FROM pg_class WHERE oid = parent)
      || '_' || CASE WHEN v_tail.is_time THEN to_char(bound::timestamptz, 'YYYY_MM') ELSE bound END);
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING ALL)', v_new, v_old);
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS partition_bound', v_new);
    FOR v_statement IN SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = v_tail.partition AND NOT tgisinternal AND tgtype & 1 = 0 LOOP
      EXECUTE replace(v_statement, ' ON ' || v_old || ' ', ' ON ' || v_new || ' ');
    END LOOP;
    EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', parent, v_old);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%s) TO (%L)', parent, v_old,
      coalesce(quote_literal(v_tail.lower), 'MINVALUE'), bound);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (MAXVALUE)', parent, v_new, bound);
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS partition_bound', v_old);
  END $$`,
  // The table becomes the only partition. Its range needs no scan, because the key is NOT NULL.
  `CREATE FUNCTION partition_table(table_name text, key text) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    v_first text := table_name || '_first';
    v_each record;
    v_next record;
  BEGIN
    EXECUTE format('ALTER TABLE %I RENAME TO %I', table_name, v_first);
    EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (%I)',
      table_name, v_first, key);
    FOR v_each IN SELECT conname, pg_get_constraintdef(oid) AS definition FROM pg_constraint
        WHERE conrelid = v_first::regclass AND contype = 'f' LOOP
      EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I %s', table_name, v_each.conname, v_each.definition);
    END LOOP;
    -- A partition gets the triggers per row from its parent, but keeps those per statement.
    FOR v_each IN SELECT tgname, tgtype & 1 = 1 AS is_row, pg_get_triggerdef(oid) AS definition FROM pg_trigger
        WHERE tgrelid = v_first::regclass AND NOT tgisinternal LOOP
      IF v_each.is_row THEN
        EXECUTE format('DROP TRIGGER %I ON %I', v_each.tgname, v_first);
      END IF;
      EXECUTE replace(v_each.definition, format(' ON %I.%I ', current_schema(), v_first),
        format(' ON %I.%I ', current_schema(), table_name));
    END LOOP;
    FOR v_each IN SELECT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS grantee,
          a.privilege_type, CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END AS option
        FROM pg_class c CROSS JOIN LATERAL aclexplode(c.relacl) AS a
        WHERE c.oid = v_first::regclass AND a.grantee <> c.relowner LOOP
      EXECUTE format('GRANT %s ON %I TO %s%s', v_each.privilege_type, table_name, v_each.grantee, v_each.option);
      EXECUTE format('REVOKE %s ON %I FROM %s', v_each.privilege_type, v_first, v_each.grantee);
    END LOOP;
    EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (MAXVALUE)', table_name, v_first);
  END $$`,
  // In a new store, which has no rows to check.
  `CREATE FUNCTION partition_empty(parent regclass, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
  DECLARE
    v_next record;
  BEGIN
    LOOP
      v_next := partition_next(parent, at);
      EXIT WHEN v_next.bound IS NULL OR v_next.is_checked;
      PERFORM partition_split(parent, v_next.bound);
    END LOOP;
  END $$`,
  // A function of its owner must not find objects in the schema of its caller.
  `DO $$ DECLARE v_function regprocedure; BEGIN
    FOR v_function IN SELECT oid FROM pg_proc WHERE proname LIKE 'partition\\_%' AND pronamespace = current_schema()::regnamespace LOOP
      EXECUTE format('ALTER FUNCTION %s SET search_path = %I, pg_temp', v_function, current_schema());
    END LOOP;
  END $$`,
]
