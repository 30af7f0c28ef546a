/**
 * Daily usage of a workspace by order type, channel and currency. Days are in UTC. The insert trigger adds the amount
 * of an order to a counter and holds the counter's row lock until the transaction ends. Concurrent orders therefore
 * cannot exceed a limit together. The update trigger subtracts the amount of an order that is cancelled, rejected,
 * failed or expired.
 *
 * The limit is `dailyMax` in the order's data. An order that exceeds its limit fails with SQLSTATE PL001. The counter
 * is always locked after the accounts, which prevents deadlocks.
 */
export const dailyUsage = [
  `CREATE TABLE daily_usage (
    workspace_biz_id uuid NOT NULL,
    order_type text NOT NULL,
    usage_of text NOT NULL,
    currency text NOT NULL,
    day date NOT NULL,
    used minor_units NOT NULL CHECK (used >= 0),
    PRIMARY KEY (workspace_biz_id, order_type, usage_of, currency, day)
  )`,
  `CREATE FUNCTION daily_usage_take() RETURNS trigger LANGUAGE plpgsql AS $$
  DECLARE
    v_used numeric;
  BEGIN
    INSERT INTO daily_usage AS u
    VALUES (NEW.workspace_biz_id, NEW.order_type, NEW.data->>'usageOf', NEW.data->>'currency',
            (NEW.created_at AT TIME ZONE 'UTC')::date, (NEW.data->>'amount')::minor_units)
    ON CONFLICT (workspace_biz_id, order_type, usage_of, currency, day) DO UPDATE SET used = u.used + excluded.used
    RETURNING used INTO v_used;
    IF v_used > (NEW.data->>'dailyMax')::numeric THEN
      RAISE EXCEPTION 'order % exceeds the daily limit', NEW.biz_id USING ERRCODE = 'PL001';
    END IF;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER daily_usage_take AFTER INSERT ON orders
    FOR EACH ROW WHEN (NEW.order_type IN ('RECHARGE', 'WITHDRAWAL')) EXECUTE FUNCTION daily_usage_take()`,
  `CREATE FUNCTION daily_usage_return() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    UPDATE daily_usage SET used = used - (NEW.data->>'amount')::minor_units
     WHERE workspace_biz_id = NEW.workspace_biz_id AND order_type = NEW.order_type
       AND usage_of = NEW.data->>'usageOf' AND currency = NEW.data->>'currency'
       AND day = (NEW.created_at AT TIME ZONE 'UTC')::date;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER daily_usage_return AFTER UPDATE OF status ON orders
    FOR EACH ROW WHEN (NEW.order_type IN ('RECHARGE', 'WITHDRAWAL') AND NEW.status <> OLD.status
      AND NEW.status IN ('CANCELLED', 'REJECTED', 'FAILED', 'EXPIRED')) EXECUTE FUNCTION daily_usage_return()`,
]
