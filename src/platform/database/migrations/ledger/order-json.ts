/** The one form in which an order is told: by the function that writes it, by replays and by the read side. */
export const orderJson = [
  `CREATE FUNCTION iso_utc(at timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
  $$`,
  // In plpgsql, whose plans are kept; an SQL function is planned anew at each call.
  `CREATE FUNCTION order_json(o orders) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
  DECLARE
    v_history jsonb;
  BEGIN
    SELECT jsonb_agg(jsonb_build_object('status', h.status, 'at', iso_utc(h.at),
             'actorBizId', h.actor_biz_id, 'reason', h.reason) ORDER BY h.position)
      INTO v_history
      FROM order_status_history h WHERE h.workspace_biz_id = o.workspace_biz_id AND h.order_biz_id = o.biz_id;
    RETURN jsonb_build_object(
      'bizId', o.biz_id, 'workspaceBizId', o.workspace_biz_id,
      'counterpartyWorkspaceBizId', o.counterparty_workspace_biz_id,
      'orderType', o.order_type, 'orderNo', o.order_no, 'status', o.status, 'version', o.version,
      'sourceWalletBizId', o.source_wallet_biz_id, 'targetWalletBizId', o.target_wallet_biz_id,
      'createdBy', o.created_by, 'data', o.data,
      'createdAt', iso_utc(o.created_at), 'updatedAt', iso_utc(o.updated_at), 'history', v_history);
  END $$`,
]
