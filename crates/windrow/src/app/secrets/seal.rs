//! ChaCha20-Poly1305 with a random nonce. Workspace and name are associated data: a value that is moved to another name
//! cannot be decrypted.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{Aad, CHACHA20_POLY1305, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom, SystemRandom};
use windrow_jobfile::environment::{SEALED, Sealer};
use windrow_model::Time;
use windrow_model::secret::SealedSecret;

use crate::error::{Error, Result};
use crate::node::master_key::MasterKey;

/// Whose value it is.
#[derive(Debug, Clone, Copy)]
pub struct Owner<'a> {
    pub workspace: &'a str,
    pub name: &'a str,
}

impl Owner<'_> {
    /// With lengths, so that no two owners read the same.
    fn associated(&self) -> Aad<Vec<u8>> {
        let mut bytes = b"windrow secret 1".to_vec();
        for part in [self.workspace, self.name] {
            bytes.extend((part.len() as u64).to_le_bytes());
            bytes.extend(part.as_bytes());
        }
        Aad::from(bytes)
    }
}

pub fn seal(key: &MasterKey, owner: Owner<'_>, value: &str, actor: &str, now: Time) -> Result<SealedSecret> {
    let mut nonce = [0; NONCE_LEN];
    let failed = |_| Error::new("failed to encrypt the secret", "retry");
    SystemRandom::new().fill(&mut nonce).map_err(failed)?;
    let mut sealed = value.as_bytes().to_vec();
    let nonce_once = Nonce::assume_unique_for_key(nonce);
    cipher(key)?.seal_in_place_append_tag(nonce_once, owner.associated(), &mut sealed).map_err(failed)?;
    Ok(SealedSecret {
        workspace: owner.workspace.to_owned(),
        name: owner.name.to_owned(),
        key_id: key.id(),
        nonce: nonce.to_vec(),
        sealed,
        actor: actor.to_owned(),
        set_at: now,
    })
}

pub fn open(key: &MasterKey, secret: &SealedSecret) -> Result<String> {
    if key.id() != secret.key_id {
        let what = format!(
            "secret {} was encrypted with another master key (id {}; the id of this one is {})",
            secret.name,
            secret.key_id,
            key.id()
        );
        return Err(Error::new(what, "restore that master key, or set the secret again"));
    }
    let owner = Owner { workspace: &secret.workspace, name: &secret.name };
    let damaged = || {
        let what = format!("secret {} is damaged, or was moved from another name", secret.name);
        Error::new(what, "set it again")
    };
    let nonce = Nonce::try_assume_unique_for_key(&secret.nonce).map_err(|_| damaged())?;
    let mut bytes = secret.sealed.clone();
    let opened = cipher(key)?.open_in_place(nonce, owner.associated(), &mut bytes).map_err(|_| damaged())?;
    String::from_utf8(opened.to_vec()).map_err(|_| damaged())
}

/// Seals texts in what operations record. The nonce is a function of key and text: equal texts look equal, and no nonce
/// serves two texts.
pub struct ImageSealer {
    key: MasterKey,
    nonces: [u8; 32],
}

const IMAGE: &[u8] = b"windrow image 1";

impl ImageSealer {
    pub fn new(key: MasterKey) -> Self {
        Self { nonces: blake3::derive_key("windrow 2026 nonces of images", key.bytes()), key }
    }
}

impl Sealer for ImageSealer {
    fn seal(&self, text: &str) -> String {
        let mut nonce = [0; NONCE_LEN];
        nonce.copy_from_slice(&blake3::keyed_hash(&self.nonces, text.as_bytes()).as_bytes()[..NONCE_LEN]);
        let mut sealed = text.as_bytes().to_vec();
        let cipher = cipher(&self.key).expect("a master key has the right length");
        let once = Nonce::assume_unique_for_key(nonce);
        cipher.seal_in_place_append_tag(once, Aad::from(IMAGE), &mut sealed).expect("a text fits into memory twice");
        format!("{SEALED}{}", STANDARD.encode([&nonce[..], &sealed].concat()))
    }

    fn open(&self, sealed: &str) -> Option<String> {
        let bytes = STANDARD.decode(sealed.strip_prefix(SEALED)?).ok()?;
        let (nonce, sealed) = bytes.split_at_checked(NONCE_LEN)?;
        let (nonce, mut sealed) = (Nonce::try_assume_unique_for_key(nonce).ok()?, sealed.to_vec());
        let opened = cipher(&self.key).ok()?.open_in_place(nonce, Aad::from(IMAGE), &mut sealed).ok()?;
        String::from_utf8(opened.to_vec()).ok()
    }
}

fn cipher(key: &MasterKey) -> Result<LessSafeKey> {
    let unbound = UnboundKey::new(&CHACHA20_POLY1305, key.bytes());
    Ok(LessSafeKey::new(unbound.map_err(|_| Error::new("invalid master key", "check it"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: Owner<'static> = Owner { workspace: "team", name: "TOKEN" };

    fn sealed(key: &MasterKey) -> SealedSecret {
        seal(key, OWNER, "p4ssw0rd-é", "ann", Time(7)).unwrap()
    }

    #[test]
    fn what_was_sealed_opens_with_its_key_and_no_other() {
        let key = MasterKey::generate().unwrap();
        let secret = sealed(&key);
        assert_eq!(open(&key, &secret).unwrap(), "p4ssw0rd-é");
        assert!(!secret.sealed.windows(4).any(|part| part == b"p4ss"));
        assert_ne!(sealed(&key).sealed, secret.sealed, "no two look alike");
        let wrong = open(&MasterKey::generate().unwrap(), &secret).unwrap_err().render();
        assert!(wrong.contains("another master key") && wrong.contains(&key.id()), "{wrong}");
    }

    #[test]
    fn an_image_opens_with_its_key_and_equal_texts_look_equal() {
        let key = MasterKey::generate().unwrap();
        let sealer = ImageSealer::new(key.clone());
        let sealed = sealer.seal("p4ssw0rd-é");
        assert_eq!(sealer.open(&sealed).as_deref(), Some("p4ssw0rd-é"));
        assert_eq!(ImageSealer::new(key).seal("p4ssw0rd-é"), sealed);
        assert_ne!(sealer.seal("p4ssw0rd-e"), sealed);
        assert_eq!(ImageSealer::new(MasterKey::generate().unwrap()).open(&sealed), None);
        assert_eq!(sealer.open("sealed:AAAA"), None);
    }

    #[test]
    fn what_was_changed_or_moved_does_not_open() {
        let key = MasterKey::generate().unwrap();
        let secret = sealed(&key);
        let mut flipped = secret.clone();
        flipped.sealed[0] ^= 1;
        let renamed = SealedSecret { name: "OTHER".into(), ..secret.clone() };
        let moved = SealedSecret { workspace: "teamT".into(), name: "OKEN".into(), ..secret.clone() };
        let short = SealedSecret { nonce: vec![1; 3], ..secret };
        for broken in [flipped, renamed, moved, short] {
            assert!(open(&key, &broken).is_err(), "{broken:?}");
        }
    }
}
