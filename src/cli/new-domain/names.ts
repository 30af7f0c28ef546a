/** Tables of Portico in the same schema. */
export const portalTables: ReadonlySet<string> = new Set([
  'accounts',
  'api_keys',
  'archived_partitions',
  'audit_archive',
  'audit_archive_links',
  'audit_chain',
  'audit_export',
  'audit_log',
  'backup_codes',
  'channel_keys',
  'command_places',
  'development_outbox',
  'event_head',
  'event_outbox',
  'event_workspace_heads',
  'events',
  'exchange_quotes',
  'exchange_rate_proposals',
  'exchange_rates',
  'exports',
  'file_usage',
  'files',
  'former_cookies',
  'former_factors',
  'former_membership_limits',
  'former_memberships',
  'idempotency',
  'invitations',
  'ip_whitelist_entries',
  'jobs',
  'known_devices',
  'ledger_accounts',
  'ledger_archive',
  'ledger_archived_balances',
  'ledger_check',
  'ledger_entries',
  'ledger_holds',
  'ledger_types',
  'ledger_usage',
  'login_failures',
  'login_history',
  'login_sessions',
  'membership_grants',
  'memberships',
  'one_time_codes',
  'operator_api_keys',
  'operator_proposals',
  'orders',
  'otp_factors',
  'passkey_challenges',
  'passkeys',
  'password_tokens',
  'portico_migrations',
  'provider_attempts',
  'provider_identities',
  'provider_invitations',
  'provider_logouts',
  'provisioned_group_members',
  'provisioned_groups',
  'provisioned_people',
  'recharge_proofs',
  'recharge_reference_allowances',
  'recharge_references',
  'refresh_tokens',
  'role_grants',
  'roles',
  'service_commands',
  'session_tickets',
  'sessions',
  'shown_secrets',
  'signing_keys',
  'step_ups',
  'suspicions',
  'unnamed_blobs',
  'wallets',
  'webhook_deliveries',
  'webhooks',
  'withdrawal_channels',
  'workspaces',
])

/** Returns the name of one entity: `loan` for `loans`, `policy` for `policies`. */
export function singularOf(name: string): string {
  return name.replace(/ies$/, 'y').replace(/([^s])s$/, (_, letter: string) => letter)
}

export function camelCase(name: string): string {
  return name.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}

export function pascalCase(name: string): string {
  const camel = camelCase(name)
  return camel.slice(0, 1).toUpperCase() + camel.slice(1)
}

export function snakeCase(name: string): string {
  return name.replaceAll('-', '_')
}

/** Returns the replacement of each spelling in the templates. */
export function spellingsOf(name: string, item: string, version: string): ReadonlyMap<string, string> {
  return new Map([
    ['card-orders', name],
    ['cardOrders', camelCase(name)],
    ['CardOrders', pascalCase(name)],
    ['CardOrder', pascalCase(item)],
    ['card_orders', snakeCase(name)],
    ['card_order', snakeCase(item)],
    ['card-order', item],
    ['CARD_ORDER', snakeCase(item).toUpperCase()],
    ['card orders', wordsOf(name)],
    ['a card order', `${/^[aeiou]/.test(item) ? 'an' : 'a'} ${wordsOf(item)}`],
    ['^0.0.0', `^${version}`],
  ])
}

export function replaceNames(text: string, spellings: ReadonlyMap<string, string>): string {
  // At one position, the longest spelling must win.
  const keys = [...spellings.keys()].sort((one, other) => other.length - one.length)
  return text.replaceAll(new RegExp(keys.map(escaped).join('|'), 'g'), (found) => spellings.get(found) ?? found)
}

function wordsOf(name: string): string {
  return name.replaceAll('-', ' ')
}

function escaped(text: string): string {
  return text.replaceAll(/[\^.]/g, '\\$&')
}
