/**
 * Ends the pending invitations of a member who can no longer grant their role: the condition that `acceptInvitation`
 * checks. Triggers see every way in which the right is lost. A recovery suspends, as members can restore it.
 */
export const inviters = [
  `CREATE FUNCTION may_invite(workspace uuid, inviter uuid, offered uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
      SELECT FROM memberships m
      JOIN accounts a ON a.biz_id = m.account_biz_id
      JOIN roles r ON r.workspace_biz_id = m.workspace_biz_id AND r.biz_id = m.role_biz_id
      JOIN roles o ON o.workspace_biz_id = m.workspace_biz_id AND o.biz_id = offered
      WHERE m.workspace_biz_id = workspace AND m.account_biz_id = inviter AND m.suspended_at IS NULL
        AND a.account_status = 'ACTIVE'
        AND coalesce(m.policy_config->>'enterable', 'true') = 'true'
        AND coalesce(m.policy_config->>'readOnly', 'false') = 'false'
        AND (r.role_type = 'OWNER' OR (o.role_type <> 'OWNER' AND 'invitation:manage' = ANY (r.permission_codes)
          AND o.permission_codes <@ r.permission_codes)))
  $$`,
  // A null inviter stands for every inviter.
  `CREATE FUNCTION invitations_end(workspace uuid, inviter uuid, ended text) RETURNS void LANGUAGE sql VOLATILE AS $$
    UPDATE invitations i
    SET invitation_status = CASE WHEN ended = 'CANCELLED' AND i.expires_at <= clock_timestamp() THEN 'EXPIRED' ELSE ended END,
        updated_at = greatest(i.updated_at, clock_timestamp())
    WHERE i.workspace_biz_id = workspace AND i.invitation_status = 'PENDING'
      AND (inviter IS NULL OR inviter IN (i.inviter_biz_id, i.enabled_by))
      AND NOT (may_invite(workspace, i.inviter_biz_id, i.role_biz_id)
        AND may_invite(workspace, coalesce(i.enabled_by, i.inviter_biz_id), i.role_biz_id))
  $$`,
  `CREATE FUNCTION invitations_of_member() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM invitations_end(OLD.workspace_biz_id, OLD.account_biz_id,
      CASE WHEN TG_OP = 'UPDATE' AND NEW.suspended_at IS NOT NULL THEN 'SUSPENDED' ELSE 'CANCELLED' END);
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER invitations_removed AFTER DELETE ON memberships
    FOR EACH ROW EXECUTE FUNCTION invitations_of_member()`,
  `CREATE TRIGGER invitations_limited AFTER UPDATE OF role_biz_id, policy_config, suspended_at ON memberships
    FOR EACH ROW EXECUTE FUNCTION invitations_of_member()`,
  `CREATE FUNCTION invitations_of_role() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM invitations_end(NEW.workspace_biz_id, NULL,
      CASE WHEN NEW.suspended_codes <@ OLD.suspended_codes THEN 'CANCELLED' ELSE 'SUSPENDED' END);
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER invitations_narrowed AFTER UPDATE OF permission_codes ON roles
    FOR EACH ROW WHEN (NEW.permission_codes IS DISTINCT FROM OLD.permission_codes)
    EXECUTE FUNCTION invitations_of_role()`,
  `CREATE FUNCTION invitations_of_account() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    PERFORM invitations_end(m.workspace_biz_id, NEW.biz_id, 'CANCELLED')
    FROM memberships m WHERE m.account_biz_id = NEW.biz_id;
    RETURN NULL;
  END $$`,
  `CREATE TRIGGER invitations_stopped AFTER UPDATE OF account_status ON accounts
    FOR EACH ROW WHEN (OLD.account_status = 'ACTIVE' AND NEW.account_status <> 'ACTIVE')
    EXECUTE FUNCTION invitations_of_account()`,
  `SELECT invitations_end(i.workspace_biz_id, i.inviter_biz_id, 'CANCELLED')
    FROM (SELECT DISTINCT workspace_biz_id, inviter_biz_id FROM invitations WHERE invitation_status = 'PENDING') i`,
]
