/** The JSON form of an order, the same for the function that writes it, for replays and for reads. */
export const orderJson = [
  `CREATE FUNCTION iso_utc(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  $$`,
  // plpgsql caches its plans; an SQL function is planned again on each call.
  `CREATE FUNCTION order_json(o orders) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
  BEGIN
    RETURN jsonb_build_object(
      'bizId', o.biz_id, 'workspaceBizId', o.workspace_biz_id,
      'counterpartyWorkspaceBizId', o.counterparty_workspace_biz_id,
      'orderType', o.order_type, 'orderNo', o.order_no, 'status', o.status, 'version', o.version,
      'sourceWalletBizId', o.source_wallet_biz_id, 'targetWalletBizId', o.target_wallet_biz_id,
      'createdBy', o.created_by, 'data', o.data,
      'createdAt', iso_utc(o.created_at), 'updatedAt', iso_utc(o.updated_at), 'history', o.history);
  END $$`,
]
