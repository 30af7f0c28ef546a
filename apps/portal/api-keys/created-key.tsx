import type { ApiKey } from 'portal-client'
import { Link } from 'wouter'
import { Secret } from '../../kit/command/secret.tsx'
import { t } from '../../kit/i18n.ts'
import { Page, Section } from '../../kit/page.tsx'

/** The secret of a new key, and how to use it. */
export function CreatedKey({
  apiKey: { bizId, apiKeyName, keyPrefix, secret, replacesIpWhitelist },
}: {
  apiKey: ApiKey
}) {
  return (
    <Page title={apiKeyName} actions={<Link href="/api-keys">{t('api-keys.all')}</Link>}>
      {replacesIpWhitelist && <p className="notice">{t('api-keys.replacesWhitelist')}</p>}
      {secret === null ? (
        <Section title={t('api-keys.prefix')}>
          <code>{keyPrefix}</code>
          <p className="hint">{t('api-keys.prefixHint')}</p>
        </Section>
      ) : (
        <Section title={t('api-keys.secret')}>
          <Secret label={t('api-keys.secret')} value={secret} />
          <p>{t('api-keys.use')}</p>
          <code className="api-keys-example">
            curl {location.origin}/api/v1/consumer/wallets -H &apos;Authorization: Bearer {keyPrefix}…&apos;
          </code>
        </Section>
      )}
      <div>
        <Link href={`/api-keys/${bizId}`} className="button">
          {t('api-keys.details')}
        </Link>
      </div>
    </Page>
  )
}
