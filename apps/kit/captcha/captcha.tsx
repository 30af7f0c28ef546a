import { isPorticoError } from 'portal-client'
import { type ReactNode, type RefObject, useEffect, useRef, useState } from 'react'
import { UserError } from '../errors.ts'
import { type Locale, locale, t } from '../i18n.ts'
import { readPageSettings } from '../settings.ts'
import { useAppliedTheme } from '../theme.ts'
import { type Check, type CheckState, startCheck } from './turnstile.ts'

export interface Captcha {
  /** Belongs into the form. Null if the deployment has no CAPTCHA. */
  field: ReactNode
  /**
   * Calls the gateway with the token of the check, or with an empty one if the deployment has no CAPTCHA. A token is valid once,
   * so a new check starts afterwards. Throws a UserError if the check is not complete, or if the gateway refuses its token.
   */
  send<T>(call: (turnstileToken: string) => Promise<T>): Promise<T>
}

/** Loads nothing from Cloudflare if the deployment has no CAPTCHA. */
export function useCaptcha(): Captcha {
  const running = useRef<Running>({ check: null, token: null })
  if (captchaKey === null) return { field: null, send: (call) => call('') }
  return {
    field: <CaptchaField siteKey={captchaKey} running={running} />,
    send: async (call) => {
      const { token } = running.current
      if (token === null) throw new UserError(t('captcha.incomplete'))
      try {
        return await call(token)
      } catch (error) {
        throw isRefusedToken(error) ? new UserError(t('captcha.refused')) : error
      } finally {
        running.current.check?.renew()
      }
    },
  }
}

interface Running {
  check: Check | null
  token: string | null
}

const { captchaKey } = readPageSettings()

const languages: Readonly<Record<Locale, string>> = { en: 'en', zh: 'zh-cn', 'zh-Hant': 'zh-tw', ja: 'ja', vi: 'vi' }

function CaptchaField({ siteKey, running }: { siteKey: string; running: RefObject<Running> }) {
  const container = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<CheckState>({ at: 'loading' })
  const [attempt, setAttempt] = useState(0)
  const theme = useAppliedTheme()
  useEffect(() => {
    if (!container.current) return undefined
    const choices = {
      sitekey: siteKey,
      theme: theme === 'system' ? 'auto' : theme,
      language: languages[locale],
    } as const
    const check = startCheck(container.current, choices, (next, token) => {
      running.current.token = token
      setState(next)
    })
    running.current.check = check
    return () => {
      check.stop()
      running.current = { check: null, token: null }
    }
  }, [siteKey, theme, attempt, running])
  return (
    <section className="captcha" aria-label={t('captcha.label')} data-state={state.at}>
      <div className="captcha-widget" ref={container} />
      {state.at === 'failed' ? (
        <Blocked code={state.code} onRetry={() => setAttempt(attempt + 1)} />
      ) : (
        <p className="hint" role="status">
          {t(`captcha.${state.at}`)}
        </p>
      )}
    </section>
  )
}

function Blocked({ code, onRetry }: { code: string | null; onRetry(): void }) {
  return (
    <div className="failure" role="alert">
      <p>{t('captcha.blocked')}</p>
      {code !== null && (
        <p className="hint">
          {t('captcha.code')} <code>{code}</code>
        </p>
      )}
      <button type="button" onClick={onRetry}>
        {t('kit.retry')}
      </button>
    </div>
  )
}

function isRefusedToken(error: unknown): boolean {
  return isPorticoError(error) && error.fields.some(({ name }) => name === 'turnstileToken')
}
