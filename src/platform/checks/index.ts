export { type BreachCheck, createBreachCheck, noBreachCheck } from '../breached-passwords.ts'
export { type Captcha, createTurnstile, noCaptcha } from '../captcha.ts'
