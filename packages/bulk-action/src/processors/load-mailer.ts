/** nodemailer, loaded with the first mail: most processes send none, and it takes 50 ms. */
export const loadMailer = () => import('nodemailer');
